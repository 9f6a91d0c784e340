//! Lines that are not what they should be, with the reason.

use std::sync::Arc;

use crate::dataset::Line;
use crate::error::{Error, SettingName};
use crate::input::RecordPlace;

/// A line that is not a valid prompt, or no answer.
#[derive(Debug)]
pub struct Rejected {
    input: Arc<str>,
    line: Line,
    bytes: Vec<u8>,
    /// The error, without the place.
    error: Error,
}

impl Rejected {
    /// `error` says nothing of the place, which is `input` and `line`.
    pub(crate) fn new(input: &Arc<str>, line: &Line, bytes: Vec<u8>, error: Error) -> Self {
        Self { input: Arc::clone(input), line: line.clone(), bytes, error }
    }

    /// What is wrong with it, without its place.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Where it is.
    pub fn place(&self) -> RecordPlace<'_> {
        RecordPlace::new(&self.input, &self.line)
    }

    /// What is wrong with it, with its place.
    pub fn into_error(self) -> Error {
        RecordPlace::new(&self.input, &self.line).of_error(self.error)
    }

    /// A line of JSON: the input's name, the line's number and bytes, the error, with settings named as the program
    /// names them, and the line itself, as text or, if it is not UTF-8, as bytes. A line that was too long to keep can
    /// be found by its offset.
    pub fn json_with(&self, name: &SettingName<'_>) -> Vec<u8> {
        let Self { input, line, bytes, error } = self;
        let error = error.display_with(name).to_string();
        let mut object = serde_json::json!({"file": &**input, line.unit: line.number, "error": error});
        if line.unit != "row" {
            object["offset"] = line.offset.into();
            object["length"] = line.length.into();
        }
        if !line.is_too_long {
            match std::str::from_utf8(bytes) {
                Ok(text) => object["text"] = text.into(),
                Err(_) => object["bytes"] = bytes.as_slice().into(),
            }
        }
        format!("{object}\n").into_bytes()
    }
}
