//! The error for what candle refuses.

use crate::error::{Error, ErrorKind};

/// What candle says.
pub(super) fn failed(error: candle_core::Error) -> Error {
    ErrorKind::Engine(error.to_string()).into()
}
