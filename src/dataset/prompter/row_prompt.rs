//! A prompt of a row.

use std::ops::Range;

use crate::conversation::Conversation;
use crate::dataset::prompter::ScoredText;
use crate::dataset::rows::Value;

/// A prompt of a row, before it is rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPrompt {
    /// The label that the text is scored for.
    pub label: Option<Value>,
    /// The index of that label among those of its row.
    pub label_index: Option<usize>,
    /// Whether it is only the answer, after
    /// [`Inferencer::normalizing_str`](crate::dataset::Inferencer::normalizing_str).
    pub is_normalizing: bool,
    /// Which of the model's turns is generated, in a chat.
    pub turn: Option<usize>,
    /// How many tokens the answer may have, if the row specifies it.
    pub max_out_len: Option<u64>,
    /// Which part of a text to score is scored.
    pub scored: ScoredText,
    /// The choices.
    pub choices: Vec<String>,
    /// The descriptions of tools for the conversation, as JSON. Only servers accept them.
    pub tools: Option<String>,
    /// The messages of each of its examples, if these are messages of their own.
    pub examples: Vec<Range<usize>>,
    /// How many of its examples were left out because they did not fit.
    pub examples_left_out: usize,
    /// Whether further turns of the dialogue depend on the model's answer.
    pub needs_answer: bool,
    /// Whether the dialogue ends with a question that is not asked, see
    /// [`TurnPlan::leaves_question`](crate::dataset::prompter::TurnPlan::leaves_question).
    pub leaves_question: bool,
    /// What is rendered.
    pub conversation: Conversation,
}

impl From<Conversation> for RowPrompt {
    fn from(conversation: Conversation) -> Self {
        Self {
            label: None,
            label_index: None,
            is_normalizing: false,
            turn: None,
            max_out_len: None,
            scored: ScoredText::Whole,
            choices: Vec::new(),
            tools: None,
            examples: Vec::new(),
            examples_left_out: 0,
            needs_answer: false,
            leaves_question: false,
            conversation,
        }
    }
}
