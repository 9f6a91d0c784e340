//! What a prompt is for: to be continued, or to be scored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, by_name};

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

impl Mode {
    /// `gen` or `ppl`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generate => "gen",
            Self::Score => "ppl",
        }
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "generate" => Ok(Self::Generate),
            "score" => Ok(Self::Score),
            _ => by_name("mode", name, [Self::Generate, Self::Score].map(|mode| (mode.name(), mode))),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
