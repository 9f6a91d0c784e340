//! An answer's line of JSON with its score.

use serde::Serialize;

use crate::error::{ErrorKind, Result};
use crate::score::{Score, ScoredAnswer};
use crate::server::finite;

/// The keys that a score adds.
#[derive(Serialize)]
struct AddedKeys<'s> {
    found: Option<&'s str>,
    correct: bool,
}

/// A line of JSON with the score of its answer: the keys `found` and `correct` after its own, which stay
/// unchanged, except that Python's `NaN` and infinities become what they are read as. An
/// answer without a score failed, and is not correct.
///
/// ```
/// use metatok::score::{Compare, ScoredAnswer, Scorer, scored_line};
///
/// let line = r#"{"id": 7, "text": "That makes 18."}"#;
/// let score = Scorer::new(Compare::Number).score("That makes 18.", &["18"]);
/// let scored = scored_line(line, &ScoredAnswer::read(line)?, Some(&score))?;
/// assert_eq!(scored, r#"{"id": 7, "text": "That makes 18.","found":"18","correct":true}"#);
/// # Ok::<(), metatok::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a line that has a score already.
pub fn scored_line(line: &str, answer: &ScoredAnswer, score: Option<&Score>) -> Result<String> {
    if answer.was_scored() {
        let what = "it already has \"found\" or \"correct\", which scoring adds; score the output of `run` or `trim`";
        return Err(ErrorKind::Invalid(what.into()).into());
    }
    let added = AddedKeys {
        found: score.and_then(|score| score.found.as_deref()),
        correct: score.is_some_and(|score| score.is_correct),
    };
    let added = serde_json::to_string(&added).expect("a text and a truth are JSON");
    let line = &*finite(line);
    let own = line.trim_end().strip_suffix('}').unwrap_or(line).trim_end();
    Ok(format!("{own},{}", &added[1..]))
}
