//! A prompt to write: the key that identifies it, and what was built for it.

use serde_json::value::RawValue;

use crate::assemble::TokenizedPrompt;
use crate::conversation::Conversation;
use crate::dataset::{RowKey, SamplingParams, Value};
use crate::tokenizer::TokenId;
use crate::truncate::Truncated;
use crate::turns::PrefixBreak;

/// Identifies a prompt, with the options of its answer.
///
/// ```
/// use metatok::sink::PromptKey;
/// use serde_json::value::to_raw_value;
///
/// let id = to_raw_value("the \"first\"")?;
/// assert_eq!(PromptKey::of(&id).id.get(), r#""the \"first\"""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PromptKey<'p> {
    /// The id, as JSON.
    pub id: &'p RawValue,
    /// The label, if it is a text to score.
    pub label: Option<&'p Value>,
    /// The index of that label among those of its row.
    pub label_index: Option<usize>,
    /// Whether it is the text that normalizes the score of its label.
    pub is_normalizing: bool,
    /// Which repeat of its row it is, if rows are repeated.
    pub repeat: Option<usize>,
    /// Which of the model's turns it is for, in a chat.
    pub turn: Option<usize>,
    /// The columns of its row that are kept, as a JSON object.
    pub columns: Option<&'p RawValue>,
    /// The limit on the answer's tokens, if the row has one.
    pub max_out_len: Option<u64>,
    /// The dataset's sampling parameters.
    pub sampling_params: SamplingParams,
    /// Its fingerprint, as JSON, see [`crate::Fingerprint`].
    pub fingerprint: Option<&'p RawValue>,
}

impl<'p> PromptKey<'p> {
    /// A prompt with only an id.
    pub fn of(id: &'p RawValue) -> Self {
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

/// A prompt, with what was built for it.
#[derive(Debug, Clone, Copy)]
pub struct BuiltPrompt<'p> {
    /// The prompt.
    pub prompt: &'p TokenizedPrompt,
    /// The ids that are scored, see [`TokenizedPrompt::labels`].
    pub labels: Option<&'p [i64]>,
    /// The tokens to choose from, if any.
    pub choice_ids: &'p [TokenId],
    /// The conversation, which has the sources of images, audio and video.
    pub conversation: Option<&'p Conversation>,
    /// How many of the prompt's first tokens the engine has in its cache from the turn before, see
    /// [`crate::turns::Turns`].
    pub prefix_tokens: Option<usize>,
    /// Why the prompt does not continue all of the turn before.
    pub prefix_break: Option<&'p PrefixBreak>,
    /// What was dropped to make the prompt fit.
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
