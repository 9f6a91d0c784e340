//! What a file of prompts says beside them, by the ending of its name.

use std::path::Path;

use crate::error::Result;
#[cfg(feature = "arrays")]
use crate::sink::arrays::{self, ArrayFormat};
#[cfg(feature = "arrow")]
use crate::sink::table::{self, TableFormat};

/// What a file of arrays or a table says beside them, as JSON; nothing if its name is of no such form.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] says what the file is not.
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
