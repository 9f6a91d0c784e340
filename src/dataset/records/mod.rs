//! Conversations as files record them: the formats, their keys, and the reader.

mod input_format;
mod keys;
mod record;

pub use input_format::InputFormat;
pub(crate) use input_format::TOOLS;
pub(crate) use keys::Keys;
pub(crate) use record::parse_error;
pub use record::{Record, RecordReader};
