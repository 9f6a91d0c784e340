//! The error for failures of candle.

use crate::error::{Error, ErrorKind};

/// candle's error message.
pub(super) fn failed(error: candle_core::Error) -> Error {
    ErrorKind::Engine(error.to_string()).into()
}
