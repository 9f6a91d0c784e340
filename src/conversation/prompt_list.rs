//! OpenCompass's `PromptList`: messages of roles, strings, and the markers of sections.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::conversation::content::{Content, ContentPart, ContentRef};

/// An item of a `PromptList`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A string outside any role.
    Text(String),
    /// A message of a role.
    Message(Message),
    /// A section begins or ends.
    Marker(Marker),
}

/// A message of a role in the dataset's template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The role. The template decides how it speaks. (Such short strings need no allocation.)
    pub role: CompactString,
    /// The role to use if the template does not have `role`.
    pub fallback_role: Option<CompactString>,
    /// The content; if missing, the template's default for the role.
    pub prompt: Prompt,
    /// Replaces the template's `begin` for this message. Content: it cannot produce control tokens.
    pub begin: Option<String>,
    /// Replaces the template's `end` for this message. Content, like `begin`.
    pub end: Option<String>,
    /// Replaces the template's `generate` for this message.
    pub generate: Option<bool>,
    /// Its other keys, such as `name`, unchanged. They do not affect prompts.
    pub others: serde_json::Map<String, serde_json::Value>,
}

/// The prompt of a [`Message`]. OpenCompass distinguishes a missing prompt from a null one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Prompt {
    /// There is none: the template's default is used.
    #[default]
    Absent,
    /// It is null, which is an error with a meta template and empty without one.
    Null,
    /// It is this text.
    Text(String),
    /// It consists of these parts, in order. AISBench: `prompt_mm`.
    Parts(Vec<ContentPart>),
}

/// The parts of a `PromptList`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Before the rounds, for example a system message.
    #[default]
    Begin,
    /// In-context examples.
    Ice,
    /// The rounds of the dialogue itself.
    Round,
    /// After the rounds.
    End,
}

impl Section {
    /// The section's name in a `PromptList`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Ice => "ice",
            Self::Round => "round",
            Self::End => "end",
        }
    }
}

/// Where a section begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The section.
    pub section: Section,
    /// Whether it begins here, or ends.
    pub opens: bool,
    /// Whether the marker has other keys too. Without a meta template, OpenCompass then mistakes it for an empty
    /// message.
    pub has_extra_keys: bool,
}

impl Message {
    /// A message with only a role and a prompt.
    pub fn new(role: impl Into<CompactString>, prompt: impl Into<Content>) -> Self {
        Self { role: role.into(), prompt: prompt.into().into(), ..Self::default() }
    }
}

impl From<Message> for Item {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl Prompt {
    /// The content; none if it is missing or null.
    pub(crate) fn content_ref(&self) -> Option<ContentRef<'_>> {
        match self {
            Self::Text(text) => Some(ContentRef::Text(text)),
            Self::Parts(parts) => Some(ContentRef::Parts(parts)),
            Self::Absent | Self::Null => None,
        }
    }
}

impl From<Content> for Prompt {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text),
            Content::Parts(parts) => Self::Parts(parts),
            Content::Null => Self::Text(String::new()),
        }
    }
}
