//! The error for what is wrong with a template, or with a row for it.

use crate::error::{Error, ErrorKind};

/// What is wrong with a template, or with a row for it.
pub(crate) fn template_error(what: &str) -> Error {
    ErrorKind::Template(what.to_owned()).into()
}
