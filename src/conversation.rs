//! What is to be said: a conversation before any template has touched it.
//!
//! The three forms are those that OpenCompass tells apart (`PromptList`, `str`, chat messages).

use std::fmt;
use std::str::FromStr;

use compact_str::CompactString;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};

/// What a prompt is for. OpenCompass calls the modes `gen` and `ppl`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// The model is to continue: the last round is cut where the generating role begins to speak.
    #[default]
    #[serde(rename = "gen", alias = "generate")]
    Generate,
    /// The model is to score the whole text: nothing is cut.
    #[serde(rename = "ppl", alias = "score")]
    Score,
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "gen" | "generate" => Ok(Self::Generate),
            "ppl" | "score" => Ok(Self::Score),
            _ => Err(ErrorKind::Usage(format!("mode {name:?} is neither \"gen\" nor \"ppl\"")).into()),
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
/// use metatok::{Conversation, Message};
/// let conversation: Conversation = serde_json::from_str(r#"[{"role": "user", "content": "Hi!"}]"#)?;
/// assert_eq!(conversation, Conversation::Messages(vec![metatok::ChatMessage::new("user", "Hi!")]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A string, which no template touches: OpenCompass passes strings on as they are.
    Text(String),
    /// OpenCompass's `PromptList`: messages, strings and section markers.
    List(Vec<Item>),
    /// OpenAI-style messages. `user`, `assistant` and `system` speak as the template's HUMAN, BOT and
    /// SYSTEM (by `api_role`, then by name); other names must be roles of the template.
    Messages(Vec<ChatMessage>),
}

/// An item of a `PromptList`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A string outside any role.
    Text(String),
    /// What a role says.
    Message(Message),
    /// A section begins or ends.
    Marker(Marker),
}

/// What a role of the dataset's template says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The role. The template decides how it speaks. (Such short strings need no memory of their own.)
    pub role: CompactString,
    /// The role to use where the template does not have `role`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_role: Option<CompactString>,
    /// What is said; without it, the template's default for the role.
    #[serde(skip_serializing_if = "Prompt::is_absent")]
    pub prompt: Prompt,
    /// Replaces the template's `begin` for this message. Content: it holds no control tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// Replaces the template's `end` for this message. Content, like `begin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Replaces the template's `generate` for this message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<bool>,
}

/// The prompt of a [`Message`]. OpenCompass tells a missing prompt from a null one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Prompt {
    /// There is none: the template's default counts.
    #[default]
    Absent,
    /// It is null, an error with a meta template and nothing without one.
    Null,
    /// It is this.
    Text(String),
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
    /// Whether the marker has other keys too. OpenCompass, without a meta template, then takes it for
    /// an empty message.
    pub has_extra_keys: bool,
}

/// An OpenAI-style message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    /// `user`, `assistant`, `system`, or a role of the template.
    pub role: CompactString,
    /// What is said.
    pub content: String,
}

impl ChatMessage {
    /// A message.
    pub fn new(role: impl Into<CompactString>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

impl Message {
    /// A message with nothing but a role and a prompt.
    pub fn new(role: impl Into<CompactString>, prompt: impl Into<String>) -> Self {
        Self { role: role.into(), prompt: Prompt::Text(prompt.into()), ..Self::default() }
    }
}

impl From<Message> for Item {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl Serialize for Conversation {
    /// Writes what [`Deserialize`] reads.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Messages(messages) => messages.serialize(serializer),
        }
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Message(message) => message.serialize(serializer),
            Self::Marker(Marker { section, opens, .. }) => {
                serializer.collect_map([("section", section.name()), ("pos", if *opens { "begin" } else { "end" })])
            }
        }
    }
}

impl Serialize for Prompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Absent | Self::Null => serializer.serialize_none(),
        }
    }
}

impl Prompt {
    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

impl<'de> Deserialize<'de> for Conversation {
    /// Reads a string, a list of `{role, content}` messages, or a `PromptList`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Conversation;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of {role, content} messages, or a PromptList")
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Conversation, E> {
                Ok(Conversation::Text(text.to_owned()))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Conversation, A::Error> {
                let (mut list, mut messages) = (Vec::new(), Vec::new());
                while let Some(item) = items.next_element::<Entry>()? {
                    match item.resolve::<A::Error>()? {
                        Resolved::Item(item) => list.push(item),
                        Resolved::Chat(message) => messages.push(message),
                    }
                    if !list.is_empty() && !messages.is_empty() {
                        return Err(de::Error::custom(
                            "messages with \"content\" and PromptList items with \"prompt\" do not mix",
                        ));
                    }
                }
                Ok(if messages.is_empty() { Conversation::List(list) } else { Conversation::Messages(messages) })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

enum Resolved {
    Item(Item),
    Chat(ChatMessage),
}

/// Any entry of a list, with the keys of all of them.
enum Entry {
    Text(String),
    Object(Box<Keys>),
}

#[derive(Default)]
struct Keys {
    section: Option<CompactString>,
    pos: Option<CompactString>,
    role: Option<CompactString>,
    fallback_role: Option<CompactString>,
    prompt: Prompt,
    content: Option<String>,
    begin: Option<String>,
    end: Option<String>,
    generate: Option<bool>,
    unknown: Option<String>,
}

const KEYS: &str = "role, content, prompt, fallback_role, begin, end, generate, section, pos";

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message, a string or a section marker")
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Entry, E> {
                Ok(Entry::Text(text.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entry, A::Error> {
                let mut keys = Keys::default();
                while let Some(key) = map.next_key::<Key>()? {
                    match key {
                        Key::Section => keys.section = Some(map.next_value()?),
                        Key::Pos => keys.pos = Some(map.next_value()?),
                        Key::Role => keys.role = Some(map.next_value()?),
                        Key::FallbackRole => keys.fallback_role = map.next_value()?,
                        Key::Prompt => {
                            keys.prompt = map.next_value::<Option<String>>()?.map_or(Prompt::Null, Prompt::Text)
                        }
                        Key::Content => keys.content = Some(map.next_value()?),
                        Key::Begin => keys.begin = Some(map.next_value()?),
                        Key::End => keys.end = Some(map.next_value()?),
                        Key::Generate => keys.generate = Some(map.next_value()?),
                        Key::Unknown(name) => {
                            map.next_value::<de::IgnoredAny>()?;
                            keys.unknown = Some(name);
                        }
                    }
                }
                Ok(Entry::Object(Box::new(keys)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

enum Key {
    Section,
    Pos,
    Role,
    FallbackRole,
    Prompt,
    Content,
    Begin,
    End,
    Generate,
    Unknown(String),
}

// By hand, because a derived enum with a catch-all copies every key.
impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> std::result::Result<Key, E> {
                Ok(match key {
                    "section" => Key::Section,
                    "pos" => Key::Pos,
                    "role" => Key::Role,
                    "fallback_role" => Key::FallbackRole,
                    "prompt" => Key::Prompt,
                    "content" => Key::Content,
                    "begin" => Key::Begin,
                    "end" => Key::End,
                    "generate" => Key::Generate,
                    _ => Key::Unknown(key.to_owned()),
                })
            }
        }
        deserializer.deserialize_identifier(Visitor)
    }
}

impl Entry {
    fn resolve<E: de::Error>(self) -> std::result::Result<Resolved, E> {
        let keys = match self {
            Self::Text(text) => return Ok(Resolved::Item(Item::Text(text))),
            Self::Object(keys) => *keys,
        };
        if let Some(section) = &keys.section {
            return Ok(Resolved::Item(Item::Marker(keys.marker(section)?)));
        }
        if let Some(unknown) = keys.unknown {
            return Err(E::custom(format_args!("unknown key {unknown:?} in a message; the keys are {KEYS}")));
        }
        let role = keys.role.ok_or_else(|| E::missing_field("role"))?;
        if let Some(content) = keys.content {
            let others = keys.prompt != Prompt::Absent
                || keys.fallback_role.is_some()
                || keys.begin.is_some()
                || keys.end.is_some()
                || keys.generate.is_some();
            if others || keys.pos.is_some() {
                return Err(E::custom("a message with \"content\" has only \"role\" beside it"));
            }
            return Ok(Resolved::Chat(ChatMessage { role, content }));
        }
        Ok(Resolved::Item(Item::Message(Message {
            role,
            fallback_role: keys.fallback_role,
            prompt: keys.prompt,
            begin: keys.begin,
            end: keys.end,
            generate: keys.generate,
        })))
    }
}

impl Keys {
    fn marker<E: de::Error>(&self, section: &str) -> std::result::Result<Marker, E> {
        let section = match section {
            "begin" => Section::Begin,
            "ice" => Section::Ice,
            "round" => Section::Round,
            "end" => Section::End,
            _ => return Err(E::unknown_variant(section, &["begin", "round", "end", "ice"])),
        };
        let opens = match self.pos.as_deref() {
            Some("begin") => true,
            Some("end") => false,
            Some(pos) => return Err(E::unknown_variant(pos, &["begin", "end"])),
            None => return Err(E::missing_field("pos")),
        };
        let has_extra_keys =
            self.role.is_some() || self.content.is_some() || self.prompt != Prompt::Absent || self.unknown.is_some();
        Ok(Marker { section, opens, has_extra_keys })
    }
}
