//! Where a record stands: its input, and its line there.

use std::fmt;

use crate::dataset::Line;
use crate::error::{Error, Place, Warning};

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub struct RecordPlace<'a> {
    input: &'a str,
    line: &'a Line,
}

impl<'a> RecordPlace<'a> {
    pub(crate) fn new(input: &'a str, line: &'a Line) -> Self {
        Self { input, line }
    }

    /// The name of the input.
    pub fn input(&self) -> &'a str {
        self.input
    }

    /// The line of the input, counted from 1; where records are no lines, the row or item.
    pub fn number(&self) -> u64 {
        self.line.number
    }

    /// The error with this place.
    pub fn of_error(&self, error: impl Into<Error>) -> Error {
        error.into().at(self.line).at(Place::file(self.input))
    }

    /// The warning with this place.
    pub fn of_warning(&self, warning: Warning) -> Warning {
        warning.at(self.line).at(Place::file(self.input))
    }
}

impl fmt::Display for RecordPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.input, self.line)
    }
}
