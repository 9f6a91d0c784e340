//! Which answers of a file were counted: each may be counted once.

use std::collections::HashSet;

use crate::answers::twice;
use crate::compare::AnswerKey;
use crate::error::Result;
use crate::score::ScoredAnswer;

/// The prompts of a file's answers so far.
///
/// ```
/// use metatok::score::{AnswersSeen, ScoredAnswer};
///
/// let mut seen = AnswersSeen::default();
/// let answer = ScoredAnswer::read(r#"{"id": 7, "columns": {}, "text": "Mars"}"#)?;
/// seen.add(&answer)?;
/// assert_eq!(seen.add(&answer).expect_err("it is there").to_string(), r#"there are two answers to id "7""#);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct AnswersSeen(HashSet<AnswerKey>);

impl AnswersSeen {
    /// Adds an answer. One without an id is not compared with others.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a second answer with the same id, repeat, turn and choice.
    pub fn add(&mut self, answer: &ScoredAnswer) -> Result<()> {
        let Some(key) = answer.key() else { return Ok(()) };
        match self.0.replace(key) {
            Some(key) => Err(twice(&key.to_string())),
            None => Ok(()),
        }
    }
}
