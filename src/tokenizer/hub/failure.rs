//! Why a file could not be downloaded.

use std::path::Path;

use crate::error::{At, Error};

/// What its user tells apart, and all else as the error that it is.
#[derive(Debug)]
pub(super) enum Failure {
    /// The hub does not have the file, at this commit if it says so.
    Missing(Option<String>),
    /// The hub could not be reached, or its answer ended early.
    Network(String),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// A file or folder of the cache that could not be read or written.
pub(super) fn of_cache<T>(result: std::io::Result<T>, path: &Path) -> crate::Result<T> {
    result.map_err(Error::from).at(path.display()).map_err(|error| {
        error.with_way_out(
            "set HF_HUB_CACHE to a folder that can be written, or HF_HUB_OFFLINE=1 to only read the cache",
        )
    })
}
