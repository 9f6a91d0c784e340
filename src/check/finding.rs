//! What a lint finds, and how severe it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Place, WayOut};

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Prompts cannot be built.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// What a lint found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The lint's code.
    pub code: &'static str,
    /// The lint's level, or a lower one if the finding does less harm.
    pub level: Level,
    /// Where: a key path of the model file, a file of the tokenizer, or a line of input.
    pub place: Place,
    /// What is wrong there.
    pub message: String,
    /// A way out.
    pub help: WayOut,
}

impl Finding {
    /// Whether one of `denied` names it: its code, `warnings` for all of that level, or `all`. An error always is denied.
    pub fn is_denied(&self, denied: &[String]) -> bool {
        let names_it = |denied: &String| match denied.as_str() {
            "all" => true,
            "warnings" => self.level == Level::Warning,
            code => code == self.code,
        };
        self.level == Level::Error || denied.iter().any(names_it)
    }
}
