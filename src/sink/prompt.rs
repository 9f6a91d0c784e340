//! A prompt on its way out: what tells it apart, and what was made for it.

use crate::assemble::TokenizedPrompt;
use crate::conversation::Conversation;
use crate::dataset::{RowKey, SamplingParams, Value};
use crate::tokenizer::TokenId;
use crate::truncate::Truncated;
use crate::turns::PrefixBreak;

/// Which prompt it is, and how long its answer may be.
#[derive(Debug, Clone, Copy)]
pub struct PromptKey<'p> {
    /// The id, as JSON.
    pub id: &'p str,
    /// The label of a text to score.
    pub label: Option<&'p Value>,
    /// The place of that label among those of its row, from 0.
    pub label_index: Option<usize>,
    /// Whether it is an answer by itself, to compare.
    pub is_normalizing: bool,
    /// Which of its row's repeats it is, where rows are asked more than once.
    pub repeat: Option<usize>,
    /// Which of the model's turns is asked for, in a chat.
    pub turn: Option<usize>,
    /// The columns of its row that are kept, as a JSON object.
    pub columns: Option<&'p str>,
    /// How many tokens the answer may have, where the row says so.
    pub max_out_len: Option<u64>,
    /// How the dataset wants the answer to be sampled.
    pub sampling_params: SamplingParams,
    /// What built it, as JSON, see [`crate::Fingerprint`].
    pub fingerprint: Option<&'p str>,
}

impl<'p> PromptKey<'p> {
    /// A prompt of which nothing is known but its id, which is JSON.
    pub fn of(id: &'p str) -> Self {
        Self {
            id,
            label: None,
            label_index: None,
            is_normalizing: false,
            repeat: None,
            turn: None,
            columns: None,
            max_out_len: None,
            sampling_params: SamplingParams::default(),
            fingerprint: None,
        }
    }
}

impl<'p> From<&'p RowKey> for PromptKey<'p> {
    fn from(RowKey { id, repeat, columns, .. }: &'p RowKey) -> Self {
        Self { repeat: *repeat, columns: columns.as_deref(), ..Self::of(id) }
    }
}

/// A prompt, and what was made for it.
#[derive(Debug, Clone, Copy)]
pub struct BuiltPrompt<'p> {
    /// The prompt.
    pub prompt: &'p TokenizedPrompt,
    /// The ids that are scored, see [`TokenizedPrompt::labels`].
    pub labels: Option<&'p [i64]>,
    /// The tokens that are chosen from, if any.
    pub choice_ids: &'p [TokenId],
    /// What the prompt was made of, where the sources of images, audio and video stand.
    pub conversation: Option<&'p Conversation>,
    /// How many of the prompt's first tokens the engine knows from the turn before, see [`crate::turns::Turns`].
    pub prefix_tokens: Option<usize>,
    /// Why these are not all that it knows.
    pub prefix_break: Option<&'p PrefixBreak>,
    /// What had to go for the prompt to fit.
    pub truncated: Option<&'p Truncated>,
}

impl<'p> From<&'p TokenizedPrompt> for BuiltPrompt<'p> {
    fn from(prompt: &'p TokenizedPrompt) -> Self {
        Self {
            prompt,
            labels: None,
            choice_ids: &[],
            conversation: None,
            prefix_tokens: None,
            prefix_break: None,
            truncated: None,
        }
    }
}
