//! What of a model was the same as a repository's chat template.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A comparison of a model with a chat template, on the conversations of [`crate::import::generated`].
///
/// Contents are named by [`crate::import::ContentKind::code`]. All prompts with contents of these kinds had the ids of
/// `apply_chat_template`, or both refused the conversation. Where the tokenizer was not at hand, the texts were compared:
/// that leaves out special tokens that a tokenizer adds by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Verification {
    /// The repository of the hub whose chat template it is.
    pub template: String,
    /// Where its text was taken from.
    pub copy: String,
    /// The day of the comparison, such as `2026-01-31`.
    pub date: String,
    /// The contents of prompts to continue, which end with a question.
    #[serde(default, rename = "gen", skip_serializing_if = "Vec::is_empty")]
    pub generate: Vec<String>,
    /// The contents of texts to score that end with an answer.
    #[serde(default, rename = "ppl", skip_serializing_if = "Vec::is_empty")]
    pub score: Vec<String>,
    /// Only conversations with a system message were the same (true), or only those without one (false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<bool>,
    /// The variables with which the chat template was rendered, such as `enable_thinking`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub kwargs: Map<String, Value>,
}
