//! Lines that give no prompt, with the reason.

use crate::dataset::Line;
use crate::error::Error;

/// A line that gives no prompt.
#[derive(Debug)]
pub struct Rejected {
    /// Why, with its place.
    pub error: Error,
    /// A line of JSON: the input's name, the line's number and bytes, why it gave no prompt, and the line itself, as text or,
    /// where it is none, as bytes. A line that was too long to keep is found by its offset.
    pub json: Vec<u8>,
}

impl Rejected {
    /// `error` says nothing of the place, which is `input` and `line`.
    pub(super) fn new(input: &str, line: &Line, bytes: &[u8], error: Error) -> Self {
        let mut object = serde_json::json!({"file": input, line.unit: line.number, "error": error.to_string()});
        if line.unit != "row" {
            object["offset"] = line.offset.into();
            object["length"] = line.length.into();
        }
        if !line.is_too_long {
            match std::str::from_utf8(bytes) {
                Ok(text) => object["text"] = text.into(),
                Err(_) => object["bytes"] = bytes.into(),
            }
        }
        Self { error: error.at(format_args!("{input}: {line}")), json: format!("{object}\n").into_bytes() }
    }
}
