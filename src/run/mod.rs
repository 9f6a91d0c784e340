//! Runs: prompts are built, answered by an engine in this process or by a server, and trimmed. An interrupted run can
//! be resumed.
//!
//! [`Runner`] does it; `metatok run` is its front end.

mod answers;
mod chain;
mod events;
mod fingerprint;
mod in_process;
mod job;
mod journal;
mod line_reader;
mod open_lines;
mod options;
#[cfg(feature = "http")]
mod over_http;
mod read_ahead;
mod runner;
#[cfg(feature = "http")]
mod server_totals;

pub use answers::{ResumeOptions, RunAnswers, journal_path};
pub use events::{RunEvent, RunOutcome, RunTotals};
pub use fingerprint::AnsweredBy;
pub(crate) use journal::{AnswerPlace, Counts, FoundJournal, Journal, KnownAnswer};
pub use options::RunOptions;
pub use runner::Runner;
#[cfg(feature = "http")]
pub use server_totals::ServerTotals;

pub use crate::sink::DEFAULT_MAX_OUT_LEN;
