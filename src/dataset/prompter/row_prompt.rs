//! A prompt that a row gives.

use crate::conversation::Conversation;
use crate::dataset::prompter::ScoredText;
use crate::dataset::rows::Value;

/// A prompt of a row, before it is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPrompt {
    /// The label that the text is scored for.
    pub label: Option<Value>,
    /// Whether it is the answer alone, behind [`Inferencer::normalizing_str`](crate::dataset::Inferencer::normalizing_str).
    pub is_normalizing: bool,
    /// Which of the model's turns is asked for, in a chat.
    pub turn: Option<usize>,
    /// How many tokens the answer may have, where the row says so.
    pub max_out_len: Option<u64>,
    /// What is scored, of a text to score.
    pub scored: ScoredText,
    /// What is chosen from.
    pub choices: Vec<String>,
    /// The descriptions of tools that stand beside the conversation, as JSON: only servers have a place for them.
    pub tools: Option<String>,
    /// What is to be rendered.
    pub conversation: Conversation,
}

impl From<Conversation> for RowPrompt {
    fn from(conversation: Conversation) -> Self {
        Self {
            label: None,
            is_normalizing: false,
            turn: None,
            max_out_len: None,
            scored: ScoredText::Whole,
            choices: Vec::new(),
            tools: None,
            conversation,
        }
    }
}
