//! What leaves metatok: built prompts in the forms that engines read.

mod jsonl;
mod messages;

use crate::assemble::TokenizedPrompt;
use crate::dataset::Value;
use crate::tokenizer::TokenId;
pub use jsonl::Jsonl;
pub use messages::MessagesJsonl;

/// A form in which prompts are written. A new one is a file here.
pub trait Sink: Send + Sync {
    /// Appends one prompt.
    fn write(&self, key: &Key<'_>, prompt: &Built<'_>, out: &mut Vec<u8>);
}

/// Which prompt it is.
#[derive(Debug, Clone, Copy)]
pub struct Key<'p> {
    /// The id, as JSON.
    pub id: &'p str,
    /// The label of a text to score.
    pub label: Option<&'p Value>,
    /// Whether it is an answer by itself, to compare.
    pub is_normalizing: bool,
    /// Which of the model's turns is asked for, in a chat.
    pub turn: Option<usize>,
}

impl<'p> Key<'p> {
    /// A prompt of which nothing is known but its id, which is JSON.
    pub fn of(id: &'p str) -> Self {
        Self { id, label: None, is_normalizing: false, turn: None }
    }
}

/// A prompt, and what was made for it.
#[derive(Debug, Clone, Copy)]
pub struct Built<'p> {
    /// The prompt.
    pub prompt: &'p TokenizedPrompt,
    /// The ids that are scored, see [`TokenizedPrompt::labels`].
    pub labels: Option<&'p [i64]>,
    /// The tokens that are chosen from, if any.
    pub choice_ids: &'p [TokenId],
}

impl<'p> From<&'p TokenizedPrompt> for Built<'p> {
    fn from(prompt: &'p TokenizedPrompt) -> Self {
        Self { prompt, labels: None, choice_ids: &[] }
    }
}
