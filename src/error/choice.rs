//! The choice that a name stands for.

use crate::error::{ErrorKind, Result};

/// The choice with this name, among all of its kind with their names.
///
/// # Errors
/// [`ErrorKind::UnknownName`] lists the names.
pub(crate) fn by_name<T>(
    what: &'static str,
    name: &str,
    choices: impl IntoIterator<Item = (&'static str, T)>,
) -> Result<T> {
    let mut known = Vec::new();
    for (choice, value) in choices {
        if choice == name {
            return Ok(value);
        }
        known.push(choice);
    }
    Err(ErrorKind::UnknownName { what, name: name.to_owned(), known }.into())
}
