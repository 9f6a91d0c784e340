//! The parts of a prompt that a file keeps.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Result;
use crate::sink::{BuiltPrompt, PromptKey, refuse_unless_plain};
use crate::tokenizer::TokenId;

/// The parts of a prompt that a file keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PromptRecord {
    /// Its id, as JSON.
    pub id: Box<RawValue>,
    /// Which repeat of its row it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// Which of the model's turns it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// The limit on the answer's tokens, if the row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_out_len: Option<u64>,
    /// Its tokens.
    #[serde(skip)]
    pub input_ids: Vec<TokenId>,
}

impl PromptRecord {
    /// Copies what a file keeps of a prompt; `unit` is the kind of the file, see [`FileSink::unit`](crate::sink::FileSink::unit).
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`] for a prompt that files cannot hold: a text to score, a choice, images.
    pub fn new(unit: &str, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<Self> {
        refuse_unless_plain(unit, key, built)?;
        let PromptKey { id, repeat, turn, max_out_len, .. } = *key;
        Ok(Self { id: id.to_owned(), repeat, turn, max_out_len, input_ids: built.prompt.input_ids.clone() })
    }
}
