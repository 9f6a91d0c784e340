//! Prompts are built, answered by an engine in this process, and trimmed; a run that was cut off is resumed.
//!
//! [`Runner`] does it; `metatok run` is its front.

mod answers;
mod chain;
mod job;
mod journal;
mod runner;

pub use answers::{RunAnswers, journal_path};
pub(crate) use journal::{Journal, Place};
pub use runner::{RunEvent, RunOutcome, RunTotals, Runner};

pub use crate::sink::DEFAULT_MAX_OUT_LEN;
