//! Conversations, before any template is applied.
//!
//! ```
//! use metatok::{ChatMessage, Conversation};
//!
//! let chat: Conversation = serde_json::from_str(r#"[{"role": "user", "content": "Hi!"}]"#).expect("it is JSON");
//! assert_eq!(chat, Conversation::Messages(vec![ChatMessage::new("user", "Hi!")]));
//! ```
//!
//! The three forms are those that OpenCompass distinguishes (`PromptList`, `str`, chat messages).

mod content;
mod entry;
mod from;
mod json;
mod json_object;
mod media;
mod others;

use std::fmt;
use std::str::FromStr;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
pub use content::{Content, ContentPart, TextPart};
pub(crate) use content::{ContentRef, map_texts};
pub use media::{Media, MediaKind};

/// What a prompt is for. OpenCompass calls the modes `gen` and `ppl`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// The model continues it: the last round is cut where the generating role begins to speak.
    #[default]
    #[serde(rename = "gen", alias = "generate")]
    Generate,
    /// The model scores the whole text: nothing is cut.
    #[serde(rename = "ppl", alias = "score")]
    Score,
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "gen" | "generate" => Ok(Self::Generate),
            "ppl" | "score" => Ok(Self::Score),
            _ => Err(ErrorKind::UnknownName { what: "mode", name: name.to_owned(), known: vec!["gen", "ppl"] }.into()),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generate => "gen",
            Self::Score => "ppl",
        })
    }
}

/// A prompt before it is rendered.
///
/// ```
/// use metatok::conversation::Message;
/// use metatok::Conversation;
/// let conversation: Conversation = serde_json::from_str(r#"[{"role": "user", "content": "Hi!"}]"#)?;
/// assert_eq!(conversation, Conversation::Messages(vec![metatok::ChatMessage::new("user", "Hi!")]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A string, to which no template is applied: OpenCompass passes strings on unchanged.
    Text(String),
    /// OpenCompass's `PromptList`: messages, strings and section markers.
    List(Vec<Item>),
    /// OpenAI-style messages. `user`, `assistant` and `system` speak as the template's HUMAN, BOT and SYSTEM (found by
    /// `api_role`, then by name). Other names must be roles of the template.
    Messages(Vec<ChatMessage>),
}

impl Conversation {
    /// This, and then `other`, as OpenCompass joins prompts with `+`: strings are concatenated, a string next to a list
    /// becomes one more item, and an empty conversation adds nothing.
    ///
    /// ```
    /// use metatok::conversation::Item;
    /// use metatok::Conversation;
    ///
    /// let list = Conversation::List(vec![Item::Text("a".into())]);
    /// let joined = list.join(Conversation::Text("b".into()))?;
    /// assert_eq!(joined, Conversation::List(vec![Item::Text("a".into()), Item::Text("b".into())]));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] for messages combined with anything else that is not empty.
    pub fn join(self, other: Self) -> Result<Self> {
        match (self, other) {
            (one, other) if other.is_empty() && !matches!((&one, &other), (Self::Text(_), Self::List(_))) => Ok(one),
            (one, other) if one.is_empty() => Ok(other),
            (Self::Text(one), Self::Text(other)) => Ok(Self::Text(one + &other)),
            (Self::Messages(mut one), Self::Messages(other)) => {
                one.extend(other);
                Ok(Self::Messages(one))
            }
            (Self::Messages(_), _) | (_, Self::Messages(_)) => {
                Err(ErrorKind::Conversation("messages cannot be mixed with strings or prompt lists".into()).into())
            }
            (one, other) => {
                let mut items = one.into_items();
                items.extend(other.into_items());
                Ok(Self::List(items))
            }
        }
    }

    /// Adds a message to messages. An empty conversation becomes messages.
    ///
    /// ```
    /// use metatok::Conversation;
    ///
    /// let mut conversation = Conversation::Messages(Vec::new());
    /// conversation.append_message("user", "1+1=?")?;
    /// conversation.append_message("assistant", "2")?;
    /// assert_eq!(serde_json::to_string(&conversation)?, r#"[{"role":"user","content":"1+1=?"},{"role":"assistant","content":"2"}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conversation`] if it already is a string or a prompt list.
    pub fn append_message(&mut self, role: impl Into<CompactString>, content: impl Into<Content>) -> Result<()> {
        if !matches!(self, Self::Messages(_)) && self.is_empty() {
            *self = Self::Messages(Vec::new());
        }
        match self {
            Self::Messages(messages) => {
                messages.push(ChatMessage::new(role, content));
                Ok(())
            }
            Self::Text(_) | Self::List(_) => {
                Err(ErrorKind::Conversation("messages cannot be mixed with strings or prompt lists".into()).into())
            }
        }
    }

    /// The content of a message, or item of a prompt list; none if there is no such message, or no content.
    pub(crate) fn said(&self, index: usize) -> Option<ContentRef<'_>> {
        match self {
            Self::Text(_) => None,
            Self::List(items) => match items.get(index)? {
                Item::Message(message) => message.prompt.said(),
                Item::Text(_) | Item::Marker(_) => None,
            },
            Self::Messages(messages) => messages.get(index).map(|message| message.content.said()),
        }
    }

    /// Every image, audio and video, with the positions of its message and of its part in the message.
    ///
    /// ```
    /// use metatok::Conversation;
    ///
    /// let conversation: Conversation = serde_json::from_str(
    ///     r#"[{"role": "user", "content": [{"type": "text", "text": "Compare."}, {"type": "image_url", "image_url": {"url": "a.png"}}]}]"#,
    /// )?;
    /// let media: Vec<_> = conversation.media().map(|(message, part, media)| (message, part, &*media.source)).collect();
    /// assert_eq!(media, [(0, 1, "a.png")]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn media(&self) -> impl Iterator<Item = (usize, usize, &Media)> {
        let messages = match self {
            Self::Text(_) => 0,
            Self::List(items) => items.len(),
            Self::Messages(messages) => messages.len(),
        };
        (0..messages).flat_map(move |message| {
            let parts = match self.said(message) {
                Some(ContentRef::Parts(parts)) => parts,
                Some(ContentRef::Text(_)) | None => &[],
            };
            parts.iter().enumerate().filter_map(move |(part, is)| Some((message, part, is.as_media()?)))
        })
    }

    /// How many bytes its texts have together.
    pub(crate) fn text_bytes(&self) -> usize {
        let messages = match self {
            Self::Text(text) => return text.len(),
            Self::List(items) => items.len(),
            Self::Messages(messages) => messages.len(),
        };
        let bytes = |message: usize| match self.said(message) {
            Some(ContentRef::Text(text)) => text.len(),
            Some(ContentRef::Parts(parts)) => parts.iter().map(ContentPart::text_bytes).sum(),
            None => 0,
        };
        let strings = match self {
            Self::List(items) => {
                items.iter().map(|item| if let Item::Text(text) = item { text.len() } else { 0 }).sum()
            }
            _ => 0,
        };
        strings + (0..messages).map(bytes).sum::<usize>()
    }

    /// The image, audio or video at these positions.
    pub fn media_at(&self, message: usize, part: usize) -> Option<&Media> {
        match self.said(message)? {
            ContentRef::Parts(parts) => parts.get(part)?.as_media(),
            ContentRef::Text(_) => None,
        }
    }

    /// The same with the content removed from messages of a prompt list that consist of parts; none if there are no
    /// such messages.
    pub(crate) fn without_parts(&self) -> Option<Self> {
        let Self::List(items) = self else { return None };
        let is_lost = |item: &Item| matches!(item, Item::Message(Message { prompt: Prompt::Parts(parts), .. }) if !parts.iter().all(|part| matches!(part, ContentPart::Ids(_))) || parts.is_empty());
        items.iter().any(is_lost).then(|| {
            let kept = |item: &Item| match item {
                Item::Message(message) if is_lost(item) => {
                    Item::Message(Message { prompt: Prompt::Absent, ..message.clone() })
                }
                item => item.clone(),
            };
            Self::List(items.iter().map(kept).collect())
        })
    }

    /// Whether it is empty: no text, no item, no message.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Messages(messages) => messages.is_empty(),
        }
    }

    fn into_items(self) -> Vec<Item> {
        match self {
            Self::Text(text) => vec![Item::Text(text)],
            Self::List(items) => items,
            Self::Messages(_) => Vec::new(),
        }
    }
}

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

/// An OpenAI-style message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// `user`, `assistant`, `system`, or a role of the template.
    pub role: CompactString,
    /// The content.
    pub content: Content,
    /// Its other keys, such as `name` or `tool_calls`, unchanged. Keys that would change a prompt are rejected when one
    /// is built.
    pub others: serde_json::Map<String, serde_json::Value>,
}

impl ChatMessage {
    /// A message.
    pub fn new(role: impl Into<CompactString>, content: impl Into<Content>) -> Self {
        Self { role: role.into(), content: content.into(), others: serde_json::Map::new() }
    }
}

/// OpenCompass's name for the role of an OpenAI-style message.
pub(crate) fn opencompass_role(role: &str) -> &str {
    match role {
        "user" => "HUMAN",
        "assistant" => "BOT",
        "system" => "SYSTEM",
        other => other,
    }
}

/// The reverse, if OpenAI-style messages have the role.
pub(crate) fn openai_role(role: &str) -> Option<&'static str> {
    match role {
        "HUMAN" => Some("user"),
        "BOT" => Some("assistant"),
        "SYSTEM" => Some("system"),
        _ => None,
    }
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
    pub(crate) fn said(&self) -> Option<ContentRef<'_>> {
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
        }
    }
}
