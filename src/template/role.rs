//! How a role speaks: the text around its content, and when it has a turn.

use serde::{Deserialize, Serialize};

use crate::template::Affix;

/// How a role speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleTemplate {
    /// The role's name. It never appears in a prompt.
    pub role: String,
    /// The role's name for API models: HUMAN, BOT or SYSTEM. OpenAI-style messages find their role by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_role: Option<String>,
    /// Written before the role's content.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub begin: Affix,
    /// The role's content if a conversation has none for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Written after the role's content.
    #[serde(default, skip_serializing_if = "Affix::is_empty")]
    pub end: Affix,
    /// Whether the model plays this role, so that a prompt to be continued ends where it begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generate: bool,
    /// The end of a prompt to be continued, if that is not `begin`: `"ASSISTANT:"` and `"ASSISTANT: "` are different
    /// tokens, and many formats need both. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_prompt: Option<Affix>,
    /// For a reserved role: it has no turn of its own. Its content is written in the next turn of this role of the
    /// round, right after that turn's `begin`. This is how Llama 2 and Gemma put a system message in the first
    /// question. Not in OpenCompass.
    #[serde(default, alias = "within", skip_serializing_if = "Option::is_none")]
    pub merge_into: Option<String>,
    /// For a reserved role: it opens every conversation in which it has no message, with its `prompt`. This is how
    /// Qwen2.5 and Vicuna have their own system message. Not in OpenCompass.
    #[serde(default, alias = "always", skip_serializing_if = "std::ops::Not::not")]
    pub default_prompt: bool,
}
