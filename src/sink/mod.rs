//! What leaves metatok: built prompts in the forms that engines read.
//!
//! ```
//! use metatok::sink::{Jsonl, LineSink as _, PromptKey};
//! use metatok::{Conversation, PromptBuilder};
//!
//! let builder = PromptBuilder::demo()?;
//! let prompt = builder.build(&Conversation::Text("Once".into()))?;
//! let mut line = Vec::new();
//! Jsonl::new(&builder, false).write(&PromptKey::of("7"), &(&prompt).into(), &mut line)?;
//! assert!(line.starts_with(br#"{"id":7,"input_ids":["#));
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! [`OUTPUT_FORMS`] lists the forms by name.

mod accepts;
#[cfg(feature = "arrays")]
mod arrays;
mod engine;
#[cfg(any(feature = "arrays", feature = "arrow"))]
mod file;
mod file_sink;
mod form;
mod forms;
mod json;
mod jsonl;
mod line_sink;
mod llama_cpp;
mod lmdeploy;
mod messages;
mod metadata;
mod prompt;
mod prompt_length;
mod sglang;
#[cfg(feature = "arrow")]
mod table;
mod vllm;

pub use accepts::Accepts;
#[cfg(feature = "arrays")]
pub use arrays::{ArrayFormat, Arrays};
use engine::refuse_unless_plain;
pub use file_sink::{FileSink, PromptRecord};
pub use form::{FormOptions, OutputForm, Sink};
pub use forms::OUTPUT_FORMS;
pub use json::write_ids;
pub use jsonl::Jsonl;
pub use line_sink::LineSink;
pub use llama_cpp::LlamaCpp;
pub use lmdeploy::Lmdeploy;
pub use messages::MessagesJsonl;
pub use metadata::metadata;
pub use prompt::{BuiltPrompt, PromptKey};
pub use prompt_length::PromptLength;
pub use sglang::Sglang;
#[cfg(feature = "arrow")]
pub use table::{Table, TableFormat};
pub use vllm::Vllm;
