//! The errors of a dataset's configuration, and of a row that does not fit it.

use crate::error::{Error, ErrorKind};

/// What is wrong with a template, or with another part of the configuration.
pub(crate) fn dataset_error(what: &str) -> Error {
    ErrorKind::Dataset(what.to_owned()).into()
}

/// What is wrong with a row.
pub(crate) fn row_error(what: &str) -> Error {
    ErrorKind::Row(what.to_owned()).into()
}
