//! Conversations as files record them: the formats, their keys, and the reader.

mod formats;
mod input_format;
mod keys;
mod parse_error;
mod reader;
mod record;

pub use input_format::InputFormat;
pub(crate) use keys::Keys;
pub(crate) use parse_error::tools_would_be_lost;
pub use reader::RecordReader;
pub use record::Record;
