//! What a prompt is for: to be continued, or to be scored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// What a prompt is for. OpenCompass calls the modes `gen` and `ppl`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// The model continues it: the last round is cut where the generating role begins to speak.
    #[default]
    #[serde(rename = "gen", alias = "generate")]
    Generate,
    /// The model scores the whole text: nothing is cut.
    #[serde(rename = "ppl", alias = "score")]
    Score,
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "gen" | "generate" => Ok(Self::Generate),
            "ppl" | "score" => Ok(Self::Score),
            _ => Err(ErrorKind::UnknownName { what: "mode", name: name.to_owned(), known: vec!["gen", "ppl"] }.into()),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generate => "gen",
            Self::Score => "ppl",
        })
    }
}
