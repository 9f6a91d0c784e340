//! The events of a run, its totals, and how it ended.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::build::InputRemarks;
use crate::error::{Error, Result, Warning};

/// An event of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The lines of about this many further bytes of the input are done.
    Read(u64),
    /// Nothing: it comes every now and then, at least ten times a second while the run waits. Breaking off here ends the
    /// run at once, without the answers that are not complete.
    Tick,
    /// This many further tokens were generated.
    Tokens(u64),
    /// Further text of an answer.
    Text(&'a str),
    /// An answer is complete.
    Answer,
    /// An answer as a line of JSON, in the order of the input. Not if a journal keeps the answers.
    Line(&'a str),
    /// The first warning of a kind about a row or its answer.
    Warning(Warning),
    /// A line or turn has no answer: its prompt cannot be built, or its request failed. The error is recorded in its place.
    /// One that all repeats of a row have comes once.
    Refused(&'a Error),
}

/// How a run ended. [`Self::into_result`] makes an error of a line without a prompt.
#[derive(Debug)]
#[must_use = "a run may end at an error"]
#[non_exhaustive]
pub enum RunOutcome {
    /// All lines are answered.
    Complete,
    /// The reader of the answers wants no more.
    Cut,
    /// It was broken off at a [`RunEvent::Tick`].
    Interrupted,
    /// This line has no prompt, and the run ends at the first such line.
    StoppedAt(Error),
}

impl RunOutcome {
    /// The error at which the run stopped, if it did. It is no error that the run was broken off.
    ///
    /// # Errors
    /// That of [`Self::StoppedAt`].
    pub fn into_result(self) -> Result<()> {
        match self {
            Self::StoppedAt(error) => Err(error),
            Self::Complete | Self::Cut | Self::Interrupted => Ok(()),
        }
    }
}

/// The totals of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunTotals {
    /// How many lines there were.
    pub lines: u64,
    /// How many answers.
    pub answers: u64,
    /// How many tokens they have, including stops.
    pub tokens: u64,
    /// How many tokens the answered prompts have.
    pub prompt_tokens: u64,
    /// How many of these an engine in this process had in its cache, from earlier turns.
    pub cached_tokens: u64,
    /// How many conversations end with an answer, which was left out.
    pub answers_omitted: u64,
    /// How many of the answered prompts were truncated.
    pub truncated: u64,
    /// How many answers ended for this reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Remarks on the input.
    pub remarks: InputRemarks,
    /// The totals of a server; none for an engine in this process.
    #[cfg(feature = "http")]
    pub server: Option<crate::run::ServerTotals>,
}

/// How long a run waits at most before the next [`RunEvent::Tick`].
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Receives events. It breaks off if no more answers are wanted.
pub(super) type Watch<'w> = &'w mut dyn FnMut(RunEvent<'_>) -> Result<ControlFlow<()>>;
