//! Prompts are built, answered by an engine in this process or by a server, and trimmed; a run that was cut off is resumed.
//!
//! [`Runner`] does it; `metatok run` is its front end.

mod answers;
mod chain;
mod events;
mod in_process;
mod job;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "answers of a server come out of order"))]
mod journal;
#[cfg(feature = "http")]
mod over_http;
mod runner;
#[cfg(feature = "http")]
mod server_totals;

pub use answers::{ResumeOptions, RunAnswers, journal_path};
pub use events::{RunEvent, RunOutcome, RunTotals};
#[cfg(feature = "http")]
pub(crate) use journal::KnownAnswer;
pub(crate) use journal::{Journal, Place};
pub use runner::Runner;
#[cfg(feature = "http")]
pub use server_totals::ServerTotals;

pub use crate::sink::DEFAULT_MAX_OUT_LEN;
