//! The metadata of a file of prompts, by the extension of its name.

use std::path::Path;

use crate::error::Result;
#[cfg(feature = "arrays")]
use crate::sink::arrays::{self, ArrayFormat};
#[cfg(feature = "arrow")]
use crate::sink::table::{self, TableFormat};

/// The metadata of a file of arrays or a table, as JSON; none if its name has another extension.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] if the file is not in the format of its extension.
pub fn metadata(path: &Path) -> Result<Option<String>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        #[cfg(feature = "arrays")]
        Some("npz") => arrays::metadata(ArrayFormat::Npz, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("npy") => arrays::metadata(ArrayFormat::Npy, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("safetensors") => arrays::metadata(ArrayFormat::Safetensors, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("arrow") => table::metadata(TableFormat::Arrow, std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("parquet") => table::metadata(TableFormat::Parquet, std::fs::read(path)?).map(Some),
        _ => Ok(None),
    }
}
