//! The metadata of a file of prompts, by the extension of its name.

#[cfg(any(feature = "arrays", feature = "arrow"))]
use std::fs::File;
use std::path::Path;

use crate::error::Result;
#[cfg(feature = "arrays")]
use crate::sink::array_metadata::array_metadata;
#[cfg(feature = "arrays")]
use crate::sink::arrays::ArrayFormat;
#[cfg(feature = "arrow")]
use crate::sink::table::{self, TableFormat};

/// The metadata of a file of arrays or a table, as JSON; none if its name has another extension.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] if the file is not in the format of its extension.
pub fn metadata(path: &Path) -> Result<Option<String>> {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    match extension.as_deref() {
        #[cfg(feature = "arrays")]
        Some("npz") => array_metadata(ArrayFormat::Npz, File::open(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("npy") => array_metadata(ArrayFormat::Npy, File::open(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("safetensors") => array_metadata(ArrayFormat::Safetensors, File::open(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("arrow") => table::metadata(TableFormat::Arrow, File::open(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("parquet") => table::metadata(TableFormat::Parquet, File::open(path)?).map(Some),
        _ => Ok(None),
    }
}
