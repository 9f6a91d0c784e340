//! The ways to shorten a prompt that is too long.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// What goes where a prompt is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Truncation {
    /// Nothing: it is an error.
    #[default]
    Refuse,
    /// The first tokens of what is said.
    Left,
    /// The last tokens of what is said.
    Right,
    /// The tokens in the middle of what is said.
    Middle,
    /// In-context examples, the last first.
    LastExamples,
    /// In-context examples, the first first.
    FirstExamples,
    /// Whole turns, the oldest first; what stands before the turns, and the last question, stay.
    OldestTurns,
}

impl FromStr for Truncation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "refuse" => Self::Refuse,
            "left" => Self::Left,
            "right" => Self::Right,
            "middle" => Self::Middle,
            "last-examples" => Self::LastExamples,
            "first-examples" => Self::FirstExamples,
            "oldest-turns" => Self::OldestTurns,
            _ => {
                let known =
                    vec!["refuse", "left", "right", "middle", "last-examples", "first-examples", "oldest-turns"];
                return Err(ErrorKind::UnknownName { what: "truncation", name: name.to_owned(), known }.into());
            }
        })
    }
}
