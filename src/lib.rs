#![cfg_attr(not(doctest), doc = include_str!("docs/links.md"))]
#![doc = include_str!("../README.md")]

pub mod error;
mod panics;
mod wording;
mod file_kind;
mod digest;
mod python_repr;
mod by_form;
mod common_prefix;
mod fewest_dropped;
mod idle;
pub mod tokenizer;
pub mod conversation;
pub mod template;
pub mod stop;
pub mod compile;
pub mod render;
pub mod dialect;
pub mod dataset;
mod assemble;
pub mod batch;
pub mod engine;
pub mod builder;
pub mod truncate;
pub mod fingerprint;
pub mod turns;
pub mod view;
pub mod import;
pub mod diff;
pub mod check;
pub mod sink;
mod pipeline;
pub mod input;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "a client needs it"))]
pub mod server;
pub mod forms;
pub mod answers;
pub mod prepared;
pub mod build;
pub mod trim;
pub mod compare;
#[cfg(feature = "http")]
pub mod client;
pub mod run;
pub mod lengths;
pub mod score;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

#[cfg(doc)]
pub mod docs;

pub use builder::{BuilderOptions, ContentTrust, PromptBuilder, Session, TokenizedPrompt};
pub use check::Checker;
pub use conversation::{ChatMessage, Conversation, Mode};
pub use dataset::{Dataset, Row};
pub use dialect::Model;
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::Fingerprint;
pub use stop::{Completion, Trimmer};
pub use template::MetaTemplate;
pub use tokenizer::{AddSpecialTokens, TokenId, Tokenizer, TokenizerCache};
pub use truncate::ContextBudget;
pub use turns::Dialogue;
pub use view::View;
pub use wording::read_options;

/// The names of roles in messages.
pub use compact_str;
/// The arrays in the signatures of [`batch`].
pub use ndarray;
