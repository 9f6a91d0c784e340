//! The lines of `metatok score --output`.

use metatok::error::{ErrorKind, Result};
use metatok::score::{Score, ScoredAnswer, scored_line};

/// The line with its score.
pub(crate) fn detailed(line: &str, answer: &ScoredAnswer, score: Option<&Score>) -> Result<Vec<u8>> {
    if answer.was_scored() {
        let what = "it already has \"found\" or \"correct\", which --output adds; score the output of `run` or `trim`";
        return Err(ErrorKind::Parse(what.into()).into());
    }
    Ok((scored_line(line, score) + "\n").into_bytes())
}
