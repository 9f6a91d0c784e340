//! How a role speaks: the text around its content, and when it has a turn.

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::by_form::deserialize_by_form;
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
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
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
    /// Which outer white space of its messages is stripped. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Trim::is_none")]
    pub trim: Trim,
    /// What a message with empty content writes. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "EmptyContent::is_written")]
    pub empty: EmptyContent,
    /// For the model's role: the text that ends the thoughts in an answer, such as `</think>`. Answers before the last
    /// user message are written without their thoughts. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<String>,
    /// With `thoughts`: the `begin` of an answer that is the last message, such as Qwen3's with
    /// `<think>\n\n</think>\n\n`. The answer's own thoughts are written between these tags. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_begin: Option<Affix>,
    /// For a reserved role: it has no turn of its own. Its content is written in the next turn of this role of the
    /// round, right after that turn's `begin`. This is how Llama 2 and Gemma put a system message in the first
    /// question. Not in OpenCompass.
    #[serde(default, alias = "within", skip_serializing_if = "Option::is_none")]
    pub merge_into: Option<String>,
    /// With `merge_into`: which turn of that role its content is written in. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "MergeAt::is_next")]
    pub at: MergeAt,
    /// For a reserved role: it opens every conversation that does not begin with its message, with its `prompt`. This is
    /// how Qwen2.5 and Vicuna have their own system message. Not in OpenCompass.
    #[serde(default, alias = "always", skip_serializing_if = "std::ops::Not::not")]
    pub default_prompt: bool,
    /// For a reserved role: its messages are left out. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// For a reserved role: its messages are errors, for this reason. Not in OpenCompass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<String>,
}

/// Which outer white space is stripped, as Python's `str.strip` and Jinja's `trim` do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trim {
    /// None: `false` in a file.
    #[default]
    None,
    /// At both ends of a message's content: `true` in a file.
    Both,
    /// At the start of a message's content.
    Start,
    /// At the end of a message's content.
    End,
    /// At both ends of all that is between the turn's `begin` and `end`: the content together with the messages that
    /// are merged into the turn, and their own `begin` and `end`.
    Turn,
}

/// What a message writes whose content is empty, after `trim`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyContent {
    /// Its role's `begin` and `end`.
    #[default]
    Written,
    /// Nothing.
    Silent,
}

/// Which turn a message is merged into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeAt {
    /// The next one of the role.
    #[default]
    Next,
    /// The last one of the role.
    Last,
}

impl RoleTemplate {
    /// Its prompt; empty if it has none.
    pub(crate) fn prompt_text(&self) -> &str {
        self.prompt.as_deref().unwrap_or_default()
    }
}

/// A text that may be left out, but not null: the reference fails where it writes that.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl Trim {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl EmptyContent {
    fn is_written(&self) -> bool {
        *self == Self::Written
    }
}

impl MergeAt {
    fn is_next(&self) -> bool {
        *self == Self::Next
    }
}

impl Serialize for Trim {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_bool(false),
            Self::Both => serializer.serialize_bool(true),
            Self::Start => serializer.serialize_str("start"),
            Self::End => serializer.serialize_str("end"),
            Self::Turn => serializer.serialize_str("turn"),
        }
    }
}

deserialize_by_form!(Trim, "true, \"start\", \"end\" or \"turn\"", {
    fn visit_bool<E>(self, both: bool) -> std::result::Result<Trim, E> {
        Ok(if both { Trim::Both } else { Trim::None })
    }

    fn visit_str<E: de::Error>(self, side: &str) -> std::result::Result<Trim, E> {
        match side {
            "start" => Ok(Trim::Start),
            "end" => Ok(Trim::End),
            "turn" => Ok(Trim::Turn),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }
});
