//! An answer's line of JSON with its score.

use serde::Serialize;

use crate::score::Score;

/// The keys that a score adds.
#[derive(Serialize)]
struct Keys<'s> {
    found: Option<&'s str>,
    correct: bool,
}

/// A line of JSON with the score of its answer: the keys `found` and `correct` after its own, which stay unchanged. An
/// answer without a score failed, and is not correct. Whether the line has these keys already is for the caller to
/// check, see [`ScoredAnswer::was_scored`](crate::score::ScoredAnswer::was_scored).
///
/// ```
/// use metatok::score::{Compare, Scorer, scored_line};
///
/// let line = r#"{"id": 7, "text": "That makes 18."}"#;
/// let score = Scorer::new(Compare::Number).score("That makes 18.", &["18"]);
/// let scored = scored_line(line, Some(&score));
/// assert_eq!(scored, r#"{"id": 7, "text": "That makes 18.","found":"18","correct":true}"#);
/// ```
pub fn scored_line(line: &str, score: Option<&Score>) -> String {
    let keys = Keys {
        found: score.and_then(|score| score.found.as_deref()),
        correct: score.is_some_and(|score| score.is_correct),
    };
    let keys = serde_json::to_string(&keys).expect("a text and a truth are JSON");
    let own = line.trim_end().strip_suffix('}').unwrap_or(line).trim_end();
    format!("{own},{}", &keys[1..])
}
