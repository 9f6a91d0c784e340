//! The ways to lay out questions and answers.

use serde::Deserialize;

use crate::error::{Error, Result, by_name};

/// How a question is laid out with its examples. In a chat, [`BuilderOptions::continue_final_message`] must be set if
/// there is a `gen_prefix`, and [`BuilderOptions::open_answer`] if answers are scored.
///
/// [`BuilderOptions::continue_final_message`]: crate::BuilderOptions::continue_final_message
/// [`BuilderOptions::open_answer`]: crate::BuilderOptions::open_answer
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// A string, to which no meta template is applied.
    #[default]
    Text,
    /// A chat in which one user message contains the examples and the question: `apply_chat_template` without
    /// `fewshot_as_multiturn`.
    Chat,
    /// A chat in which each example is a turn: `apply_chat_template`.
    Turns,
}

impl Layout {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Chat => "chat",
            Self::Turns => "turns",
        }
    }
}

impl std::str::FromStr for Layout {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name("layout", name, [Self::Text, Self::Chat, Self::Turns].map(|layout| (layout.name(), layout)))
    }
}
