//! Which answers of a file were counted, to tell those that may be counted twice.

use std::collections::HashSet;

use crate::compare::AnswerKey;
use crate::error::{Warning, counted};
use crate::score::ScoredAnswer;

/// The prompts of a file's answers so far.
///
/// ```
/// use metatok::score::{AnswersSeen, ScoredAnswer};
///
/// let mut seen = AnswersSeen::default();
/// let answer = ScoredAnswer::read(r#"{"id": 7, "columns": {}, "text": "Mars"}"#)?;
/// seen.add(&answer);
/// assert!(seen.repeated().is_none());
/// seen.add(&answer);
/// let message = "1 answer has the id of another one, the first one id \"7\": each was counted";
/// assert_eq!(seen.repeated().expect("it is there twice").message(), message);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct AnswersSeen {
    keys: HashSet<AnswerKey>,
    repeated: usize,
    first: Option<AnswerKey>,
}

impl AnswersSeen {
    /// Adds an answer. One without an id is not compared with others.
    pub fn add(&mut self, answer: &ScoredAnswer) {
        let Some(key) = answer.key() else { return };
        if let Some(key) = self.keys.replace(key) {
            self.repeated += 1;
            self.first.get_or_insert(key);
        }
    }

    /// A warning about answers with the same id, repeat, turn and choice. Rows of several files may have the same ids.
    pub fn repeated(&self) -> Option<Warning> {
        let has = if self.repeated == 1 { "has" } else { "have" };
        let answers = counted(self.repeated, "answer");
        let what =
            format!("{answers} {has} the id of another one, the first one {}: each was counted", self.first.as_ref()?);
        Some(Warning::new("repeated-answer", what).with_way_out("remove one of them if both answer the same prompt"))
    }
}
