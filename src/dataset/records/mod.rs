//! Conversations as files record them: the formats, their keys, and the reader.

mod formats;
mod input_format;
mod keys;
mod parse_error;
mod reader;
mod record;

pub(crate) use formats::TOOLS;
pub use input_format::InputFormat;
pub(crate) use keys::Keys;
pub use reader::RecordReader;
pub use record::Record;
