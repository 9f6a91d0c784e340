//! How many answers were trimmed, and what was found in them.

use std::collections::BTreeMap;

use crate::server::calls_tools;
use crate::trim::TrimmedAnswer;

/// How many answers were trimmed, and what was found in them.
///
/// ```
/// use metatok::PromptBuilder;
/// use metatok::trim::{AnswerTrimmer, TrimOptions, TrimTotals};
///
/// let trimmer = AnswerTrimmer::new(&PromptBuilder::demo()?, TrimOptions::default())?;
/// let mut totals = TrimTotals::default();
/// for line in [r#"{"text": "Paris.<|im_end|>"}"#, r#"{"text": "The capital of"}"#] {
///     trimmer.trim(line)?.iter().for_each(|answer| totals.add(answer));
/// }
/// assert_eq!((totals.answers, totals.stopped), (2, 1));
/// assert!(totals.is_good());
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrimTotals {
    /// All answers.
    pub answers: u64,
    /// Those that end at a stop.
    pub stopped: u64,
    /// Those with an error in place of an answer.
    pub errors: u64,
    /// How many problems there are of each code.
    pub problems: BTreeMap<&'static str, u64>,
}

impl TrimTotals {
    /// Adds an answer.
    pub fn add(&mut self, answer: &TrimmedAnswer<'_>) {
        self.answers += 1;
        self.stopped += u64::from(answer.finish_reason == "stop" || calls_tools(&answer.finish_reason));
        self.errors += u64::from(answer.error.is_some());
        for problem in &answer.problems {
            *self.problems.entry(problem.code).or_default() += 1;
        }
    }

    /// Adds those of other answers.
    pub fn add_all(&mut self, others: &Self) {
        self.answers += others.answers;
        self.stopped += others.stopped;
        self.errors += others.errors;
        for (code, count) in &others.problems {
            *self.problems.entry(code).or_default() += count;
        }
    }

    /// Whether no answer has an error or a problem.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.errors == 0
    }
}
