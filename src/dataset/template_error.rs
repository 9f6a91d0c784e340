//! The error of a template, or of a row that does not fit it.

use crate::error::{Error, ErrorKind};

/// What is wrong with a template, or with a row for it.
pub(crate) fn template_error(what: &str) -> Error {
    ErrorKind::Template(what.to_owned()).into()
}
