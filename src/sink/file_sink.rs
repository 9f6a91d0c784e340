//! Forms that write all prompts into one file at the end.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result};
use crate::sink::{BuiltPrompt, PromptKey, refuse_unless_plain};
use crate::tokenizer::TokenId;

/// Makes one file from all prompts. A new form of files is a file here.
pub trait FileSink: Send + Sync {
    /// The kind of the file, in messages: `an array`, `a table`.
    fn unit(&self) -> &'static str;

    /// Makes the file.
    ///
    /// # Errors
    /// If the prompts do not fit into one file.
    fn finish(&self, prompts: &[PromptRecord]) -> Result<Vec<u8>>;
}

/// The parts of a prompt that a file keeps.
#[derive(Debug, Clone, Serialize)]
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
    /// Copies what a form keeps of a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a prompt that files cannot hold: a text to score, a choice, images.
    pub fn new(sink: &dyn FileSink, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<Self> {
        refuse_unless_plain(sink.unit(), key, built)?;
        let PromptKey { id, repeat, turn, max_out_len, .. } = *key;
        let id = RawValue::from_string(id.to_owned()).map_err(|error| ErrorKind::Parse(error.to_string()))?;
        Ok(Self { id, repeat, turn, max_out_len, input_ids: built.prompt.input_ids.clone() })
    }
}
