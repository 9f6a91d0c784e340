//! Answers of two engines to the same prompts: where each pair begins to differ.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use metatok::PromptBuilder;
//! use metatok::compare::{AnswerComparer, FirstDifference};
//! use metatok::input::Input;
//!
//! let comparer = AnswerComparer::new(&PromptBuilder::demo()?)?;
//! let a = Input::new("a", r#"{"id": 7, "token_ids": [44, 695, 13, 1052]}"#.as_bytes());
//! let b = Input::new("b", r#"{"id": "cmpl-7", "choices": [{"text": "Mars!", "token_ids": [44, 695, 0, 1052]}]}"#.as_bytes());
//! let mut first_differences = Vec::new();
//! let totals = comparer.compare(comparer.read(a, 1 << 20)?, b, 1 << 20, |comparison| {
//!     first_differences.extend(comparison.first_difference);
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(first_differences, [FirstDifference::Token(2)]);
//! assert_eq!((totals.equal, totals.differ), (0, 1));
//! # Ok::<(), metatok::Error>(())
//! ```

mod answer;
mod answer_set;
mod comparison;
mod difference;
mod terminal;
mod totals;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::input::{Input, RecordPlace, each_object};
use crate::server::{SeenSamples, without_infinities};
use crate::tokenizer::Tokenizer;
use crate::trim::{AnswerTrimmer, TrimOptions};
use answer::Answer;
pub(crate) use answer::AnswerKey;
pub use answer_set::AnswerSet;
pub use comparison::{Comparison, DifferingAnswer};
pub use difference::FirstDifference;
use difference::first_byte;
pub use totals::CompareTotals;

/// The default number of tokens to show before a difference, and from it on.
pub const DEFAULT_CONTEXT: usize = 8;

/// Compares answers of one model. Each is trimmed first, because engines differ in what they leave after a stop.
#[derive(Debug)]
pub struct AnswerComparer {
    trimmer: AnswerTrimmer,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    run_ids: Vec<String>,
}

impl AnswerComparer {
    /// Compares answers of a builder's model, by its stops and tokenizer.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::trimmer`].
    pub fn new(builder: &PromptBuilder) -> Result<Self> {
        let trimmer = AnswerTrimmer::new(builder, TrimOptions::default())?;
        Ok(Self { trimmer, tokenizer: Arc::clone(builder.tokenizer()), context: DEFAULT_CONTEXT, run_ids: Vec::new() })
    }

    /// Shows this many tokens before a difference, and from it on.
    #[must_use]
    pub fn context(mut self, tokens: usize) -> Self {
        self.context = tokens;
        self
    }

    /// Removes these run ids from the beginning of requests' ids. Each engine may have its own.
    #[must_use]
    pub fn run_ids(mut self, run_ids: Vec<String>) -> Self {
        self.run_ids = run_ids;
        self
    }

    /// Reads the first file: JSON lines in any of [`ANSWER_FORMATS`](crate::server::ANSWER_FORMATS). Its answers are
    /// kept in memory.
    ///
    /// # Errors
    /// With the place: a line that is not an answer or that has no id, an id that the tokenizer does not have, and two
    /// answers to one prompt.
    pub fn read(&self, input: Input, max_line_bytes: usize) -> Result<AnswerSet> {
        let mut set = AnswerSet::new(input.name());
        self.each_answer(input, max_line_bytes, |place, key, answer| {
            set.add(key, answer).map_err(|error| place.of_error(error))?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(set)
    }

    /// Compares the answers of the second file, line by line, with those of the first. `visit` gets a comparison for
    /// each, in the order of the second file; after them, the answers that only the first file has, in its order. It
    /// may break off.
    ///
    /// # Errors
    /// The same as for [`Self::read`], and errors of `visit`.
    pub fn compare(
        &self,
        mut a: AnswerSet,
        b: Input,
        max_line_bytes: usize,
        mut visit: impl FnMut(&Comparison<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<CompareTotals> {
        let name = b.name().to_owned();
        let mut totals = CompareTotals::default();
        let mut flow = ControlFlow::Continue(());
        self.each_answer(b, max_line_bytes, |place, key, answer| {
            let comparison = match a.take(&key).map_err(|error| place.of_error(error))? {
                Some(first) => self.pair(&key, [&first, &answer]),
                None => {
                    totals.only_in_b += 1;
                    Comparison::only_in(&name, &key, &answer)
                }
            };
            totals.add(&comparison);
            flow = visit(&comparison)?;
            Ok(flow)
        })?;
        // Where `visit` broke off, it is unknown what the rest of the second file has.
        if flow.is_continue() {
            for (key, answer) in a.left() {
                totals.only_in_a += 1;
                if flow.is_continue() {
                    flow = visit(&Comparison::only_in(a.name(), key, answer))?;
                }
            }
        }
        totals.sort();
        Ok(totals)
    }

    fn pair(&self, key: &AnswerKey, answers: [&Answer; 2]) -> Comparison<'static> {
        let compare = |[a, b]: [&Answer; 2]| Comparison::of(key, [a, b], &self.tokenizer, self.context);
        let [a, b] = answers;
        if a.token_ids.is_some() && b.token_ids.is_some() {
            return compare(answers);
        }
        let said = a.as_said().zip(b.as_said());
        let [a, b] = said.as_ref().map_or(answers, |(a, b)| [&**a, &**b]);
        let without_thoughts = a.after_thoughts(b).or_else(|| b.after_thoughts(a).map(|[b, a]| [a, b]));
        let [a, b] = without_thoughts.as_ref().map_or([a, b], |[a, b]| [a, b]);
        compare([&self.as_spelled(a, &b.text), &self.as_spelled(b, &a.text)])
    }

    /// An answer with ids, spelled as an engine would that gave the other text.
    fn as_spelled<'a>(&self, answer: &'a Answer, other: &str) -> Cow<'a, Answer> {
        let Some(ids) = &answer.token_ids else { return Cow::Borrowed(answer) };
        let equal = |spelling: &&str| Reverse(first_byte(spelling, other).unwrap_or(usize::MAX));
        match self.trimmer.spellings(ids, &answer.text).min_by_key(equal) {
            Some(spelling) if spelling != answer.text => Cow::Owned(answer.with_text(spelling)),
            _ => Cow::Borrowed(answer),
        }
    }

    fn each_answer(
        &self,
        input: Input,
        max_line_bytes: usize,
        mut visit: impl FnMut(RecordPlace<'_>, AnswerKey, Answer) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut seen = SeenSamples::default();
        each_object(vec![input], max_line_bytes, |place, line| {
            if line.as_ref().is_ok_and(|line| seen.has(place.input(), line)) {
                return Ok(ControlFlow::Continue(()));
            }
            let read = |line: &str| answer::read(&self.trimmer, &self.run_ids, line);
            let answers = line.and_then(|line| without_infinities(line, read));
            for (key, answer) in answers.map_err(|error| place.of_error(error))? {
                if visit(place, key, answer)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}
