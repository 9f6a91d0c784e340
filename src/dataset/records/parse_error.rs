//! The errors of records that cannot be read.

use crate::error::{Error, ErrorKind};

/// A parser's message with the place in the record, of which `part` was parsed.
pub(crate) fn parse_error(record: &str, part: &str, error: &serde_json::Error) -> ErrorKind {
    let message = error.to_string();
    let Some((what, _)) = message.rsplit_once(" at line ") else { return ErrorKind::Parse(message) };
    let start = (part.as_ptr() as usize).saturating_sub(record.as_ptr() as usize).min(record.len());
    let before = &record.as_bytes()[..start];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + error.line();
    let column = match error.line() {
        0 | 1 => start - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + error.column(),
        _ => error.column(),
    };
    ErrorKind::Parse(match record.trim_end().contains('\n') {
        false => format!("{what} at column {column}"),
        true => format!("{what} at line {line} of it, column {column}"),
    })
}

/// What is wrong with a record whose JSON is as it should be.
pub(super) fn refused(what: &str) -> Error {
    ErrorKind::Parse(what.to_owned()).into()
}
