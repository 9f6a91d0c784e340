//! The score of an answer, and its line in the output of `metatok score`.

use serde::Serialize;

use metatok::error::{At, ErrorKind, Result};
use metatok::score::{Score, ScoredAnswer, Scorer};

/// What a line of --output has in addition to the input's keys.
#[derive(Serialize)]
struct Worth {
    found: Option<String>,
    correct: bool,
}

/// The score of an answer; none if it failed.
pub(crate) fn score(scorer: &Scorer, answer: &ScoredAnswer, column: &str) -> Result<Option<Score>> {
    let Some(text) = answer.text() else { return Ok(None) };
    let references = answer.references(column)?;
    scorer.check(&references).at(column).at("columns")?;
    Ok(Some(scorer.score(text, &references)))
}

/// The line with its score, and its own keys unchanged.
pub(crate) fn detailed(line: &str, answer: &ScoredAnswer, score: Option<Score>) -> Result<Vec<u8>> {
    if answer.was_scored() {
        let what = "it already has \"found\" or \"correct\", which --output adds; score the output of `run` or `trim`";
        return Err(ErrorKind::Parse(what.into()).into());
    }
    let worth = Worth {
        correct: score.as_ref().is_some_and(|score| score.is_correct),
        found: score.and_then(|score| score.found),
    };
    let worth = serde_json::to_string(&worth).expect("a text and a truth are JSON");
    let keys = line.trim_end().strip_suffix('}').unwrap_or(line).trim_end();
    Ok(format!("{keys},{}\n", &worth[1..]).into_bytes())
}
