//! Conversations as recorded in files: the formats, their keys, and the reader.
//!
//! ```
//! use metatok::dataset::records::{InputFormat, RecordReader};
//!
//! let reader = RecordReader::new(InputFormat::Alpaca);
//! let record = reader.parse(r#"{"instruction": "Add them.", "input": "1 and 1", "output": "2"}"#)?;
//! let expected = r#"[{"role": "user", "content": "Add them.\n1 and 1"}, {"role": "assistant", "content": "2"}]"#;
//! assert_eq!(record.conversation, serde_json::from_str(expected).unwrap());
//! # Ok::<(), metatok::Error>(())
//! ```

mod answered;
mod companions;
mod conversations;
mod formats;
mod input_format;
mod keys;
mod other_roles;
mod parse_error;
mod plain_chat;
mod reader;
mod reads_for;
mod record;
mod response_request;
mod sampling_keys;
mod tools;

pub use companions::{companions, conversation_key};
pub use input_format::InputFormat;
pub(crate) use keys::Keys;
pub use keys::is_record_key;
pub(crate) use other_roles::OwnRoles;
pub use reader::RecordReader;
pub use reads_for::ReadsFor;
pub use record::Record;
