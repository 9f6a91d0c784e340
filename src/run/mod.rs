//! Prompts are built, answered by an engine in this process, and trimmed. An interrupted run can be resumed.
//!
//! [`Runner`] does it; `metatok run` is its front end.

mod answers;
mod chain;
mod job;
mod journal;
mod runner;

pub use answers::{RunAnswers, journal_path};
pub(crate) use journal::{Journal, Place};
pub use runner::{RunEvent, RunOutcome, RunTotals, Runner};

/// The default limit for the tokens of an answer.
pub const DEFAULT_MAX_OUT_LEN: usize = 512;
