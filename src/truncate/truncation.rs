//! The ways to shorten a prompt that is too long.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, by_name};

/// What is dropped if a prompt is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Truncation {
    /// Nothing: it is an error.
    #[default]
    Refuse,
    /// The first tokens of the content.
    Left,
    /// The last tokens of the content.
    Right,
    /// The tokens in the middle of the content.
    Middle,
    /// In-context examples, starting with the last.
    LastExamples,
    /// In-context examples, starting with the first.
    FirstExamples,
    /// Whole turns, the oldest first. The messages before the turns, and the last question, stay.
    OldestTurns,
}

impl Truncation {
    /// Whether it drops tokens, and not whole messages.
    pub(crate) fn cuts_tokens(self) -> bool {
        matches!(self, Self::Left | Self::Right | Self::Middle)
    }
}

impl FromStr for Truncation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [
            ("refuse", Self::Refuse),
            ("left", Self::Left),
            ("right", Self::Right),
            ("middle", Self::Middle),
            ("last-examples", Self::LastExamples),
            ("first-examples", Self::FirstExamples),
            ("oldest-turns", Self::OldestTurns),
        ];
        by_name("truncation", name, all)
    }
}
