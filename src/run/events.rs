//! What happens in a run, and what it comes to.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::build::InputRemarks;
use crate::error::{Error, Result, Warning};

/// What happens in a run, as it happens.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// So many bytes of the input are done.
    Read(u64),
    /// There are so many further tokens.
    Tokens(u64),
    /// The text of an answer goes on.
    Text(&'a str),
    /// An answer is complete.
    Answer,
    /// A line of JSON for whoever reads the answers as they come, in the order of the input. Not where a journal keeps them.
    Line(&'a str),
    /// A row is not as it should be: the first one.
    Warning(Warning),
    /// A line, or a turn, gives no prompt; its error stands in place of an answer.
    Refused(&'a Error),
}

/// How a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunOutcome {
    /// All lines are answered.
    Complete,
    /// Nobody takes answers any more.
    Cut,
    /// This line gives no prompt, and lines are not to be refused.
    StoppedAt(Error),
}

/// What a run came to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RunTotals {
    /// How many lines there were.
    pub lines: u64,
    /// How many answers.
    pub answers: u64,
    /// How many tokens they have, the stops with them.
    pub tokens: u64,
    /// How many tokens the answered prompts have.
    pub prompt_tokens: u64,
    /// How many of these an engine in this process had in its cache, from the turns before.
    pub cached_tokens: u64,
    /// How many conversations end with an answer, which was left out.
    pub answers_omitted: u64,
    /// How many answers ended for this reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// What was noticed in the input.
    pub remarks: InputRemarks,
    /// What a server did; none of an engine in this process.
    #[cfg(feature = "http")]
    pub server: Option<crate::run::ServerTotals>,
}

/// Takes notice of what happens; breaks off where nobody takes answers any more.
pub(super) type Watch<'w> = &'w mut dyn FnMut(RunEvent<'_>) -> Result<ControlFlow<()>>;
