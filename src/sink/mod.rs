//! Writing built prompts, in the forms that engines read.
//!
//! ```
//! use metatok::sink::{Jsonl, LineSink as _, PromptKey};
//! use metatok::{Conversation, PromptBuilder};
//!
//! let builder = PromptBuilder::demo()?;
//! let prompt = builder.build(&Conversation::Text("Once".into()))?;
//! let (id, mut line) = (serde_json::value::to_raw_value(&7)?, Vec::new());
//! Jsonl::new(&builder, false).write(&PromptKey::of(&id), &(&prompt).into(), &mut line)?;
//! assert!(line.starts_with(br#"{"id":7,"input_ids":["#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`OUTPUT_FORMS`](crate::forms::OUTPUT_FORMS) lists the forms by name; those of inference servers are in
//! [`crate::server`].

mod accepts;
#[cfg(feature = "arrays")]
mod array_metadata;
#[cfg(feature = "arrays")]
pub(crate) mod arrays;
mod digits;
#[cfg(any(feature = "arrays", feature = "arrow"))]
mod file_origin;
mod file_sink;
mod form;
mod json;
pub(crate) mod jsonl;
mod line_sink;
pub(crate) mod messages;
mod metadata;
#[cfg(feature = "arrays")]
mod padded;
mod plain;
mod prompt;
mod prompt_length;
mod prompt_record;
mod request_options;
mod spool;
#[cfg(feature = "arrow")]
pub(crate) mod table;

pub use accepts::Accepts;
#[cfg(feature = "arrays")]
pub use arrays::{ArrayFormat, Arrays};
pub use digits::write_ids;
pub use file_sink::FileSink;
pub use form::{FormOptions, OutputForm, Sink};
pub(crate) use json::{write_json, write_numbers, write_origin};
pub use jsonl::Jsonl;
pub use line_sink::LineSink;
pub use messages::MessagesJsonl;
pub use metadata::metadata;
pub(crate) use plain::{CHOICE, no_place, no_place_for_scores, refuse_choices_and_media, refuse_unless_plain};
pub use prompt::{BuiltPrompt, PromptKey};
pub use prompt_length::PromptLength;
pub use prompt_record::PromptRecord;
pub use request_options::{DEFAULT_MAX_OUT_LEN, RequestOptions};
pub use spool::PromptSpool;
#[cfg(feature = "arrow")]
pub use table::{Table, TableFormat};
