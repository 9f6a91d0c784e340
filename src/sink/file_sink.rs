//! Forms of files that are one only when all prompts are there.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result};
use crate::sink::{BuiltPrompt, PromptKey, refuse_unless_plain};
use crate::tokenizer::TokenId;

/// Makes a file of all prompts. A new form of files is a file here.
pub trait FileSink: Send + Sync {
    /// What the file is made of, in messages: `an array`, `a table`.
    fn unit(&self) -> &'static str;

    /// Makes the file.
    ///
    /// # Errors
    /// Says what cannot stand in one file.
    fn finish(&self, prompts: &[PromptRecord]) -> Result<Vec<u8>>;
}

/// What a file keeps of a prompt.
#[derive(Debug, Clone, Serialize)]
pub struct PromptRecord {
    /// Its id, as JSON.
    pub id: Box<RawValue>,
    /// Which of its row's repeats it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// Which of the model's turns is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// How many tokens the answer may have, where the row says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_out_len: Option<u64>,
    /// Its tokens.
    #[serde(skip)]
    pub input_ids: Vec<TokenId>,
}

impl PromptRecord {
    /// What a form keeps of a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a prompt that it has no place for: a text to score, a choice, images.
    pub fn new(sink: &dyn FileSink, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<Self> {
        refuse_unless_plain(sink.unit(), key, built)?;
        let PromptKey { id, repeat, turn, max_out_len, .. } = *key;
        let id = RawValue::from_string(id.to_owned()).map_err(|error| ErrorKind::Parse(error.to_string()))?;
        Ok(Self { id, repeat, turn, max_out_len, input_ids: built.prompt.input_ids.clone() })
    }
}
