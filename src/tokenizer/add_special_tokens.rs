//! Whether a tokenizer adds its own special tokens.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, by_name};

/// Whether the special tokens that a tokenizer adds around a text (its post-processor, `add_special_tokens`)
/// are added to a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", rename_all = "lowercase")]
pub enum AddSpecialTokens {
    /// Like the tokenizer, but a token that the prompt already begins or ends with is not added again.
    #[default]
    Auto,
    /// Like Hugging Face, which adds tokens again that the template has already written.
    Always,
    /// Only those that the template writes.
    Never,
}

impl std::str::FromStr for AddSpecialTokens {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let all = [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];
        by_name("choice of special tokens", name, all)
    }
}

impl TryFrom<String> for AddSpecialTokens {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}
