//! What leaves metatok: built prompts in the forms that engines read.

#[cfg(feature = "arrays")]
mod arrays;
mod engine;
mod form;
mod jsonl;
mod llama_cpp;
mod lmdeploy;
mod messages;
mod prompt_length;
#[cfg(any(feature = "arrays", feature = "arrow"))]
mod records;
mod sglang;
#[cfg(feature = "arrow")]
mod table;
mod vllm;

use std::path::Path;

use crate::assemble::TokenizedPrompt;
use crate::conversation::Conversation;
use crate::dataset::{RowKey, SamplingParams, Value};
use crate::error::Result;
use crate::tokenizer::TokenId;
use crate::truncate::Truncated;
use crate::turns::PrefixBreak;
#[cfg(feature = "arrays")]
pub use arrays::{ArrayFormat, Arrays};
pub use form::{Accepts, FormOptions, OUTPUT_FORMS, OutputForm};
pub use jsonl::Jsonl;
pub(crate) use jsonl::write_ids;
pub use llama_cpp::LlamaCpp;
pub use lmdeploy::Lmdeploy;
pub use messages::MessagesJsonl;
pub use prompt_length::PromptLength;
pub use sglang::Sglang;
#[cfg(feature = "arrow")]
pub use table::{Table, TableFormat};
pub use vllm::Vllm;

/// What a file of arrays or a table says beside them, as JSON; nothing if its name is of no such form.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] says what the file is not.
pub(crate) fn metadata(path: &Path) -> Result<Option<String>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        #[cfg(feature = "arrays")]
        Some("npz") => arrays::metadata(ArrayFormat::Npz, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("npy") => arrays::metadata(ArrayFormat::Npy, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrays")]
        Some("safetensors") => arrays::metadata(ArrayFormat::Safetensors, &std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("arrow") => table::metadata(TableFormat::Arrow, std::fs::read(path)?).map(Some),
        #[cfg(feature = "arrow")]
        Some("parquet") => table::metadata(TableFormat::Parquet, std::fs::read(path)?).map(Some),
        _ => Ok(None),
    }
}

/// A form in which prompts are written. A new one is a file here.
pub trait Sink: Send + Sync {
    /// Appends one prompt.
    ///
    /// # Errors
    /// Says what of the prompt the form has no place for. What was appended is then unspecified.
    fn write(&self, key: &PromptKey<'_>, prompt: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()>;

    /// Whether what is appended is no file before [`Self::finish`] makes one of all of it.
    fn is_whole(&self) -> bool {
        false
    }

    /// Makes a file of all that was appended, in order.
    ///
    /// # Errors
    /// Says what cannot stand in one file.
    fn finish(&self, written: &[u8]) -> Result<Vec<u8>> {
        Ok(written.to_vec())
    }
}

/// Which prompt it is, and how long its answer may be.
#[derive(Debug, Clone, Copy)]
pub struct PromptKey<'p> {
    /// The id, as JSON.
    pub id: &'p str,
    /// The label of a text to score.
    pub label: Option<&'p Value>,
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
    /// How the answer is drawn, where anybody says so.
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
