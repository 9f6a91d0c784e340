//! A conversation as JSON: any of its forms is read, and written as it is read.

use std::fmt;

use compact_str::CompactString;
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::conversation::{ChatMessage, Content, ContentPart, Conversation, Item, Marker, Message, Prompt, Section};

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

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        if let Some(role) = &self.fallback_role {
            map.serialize_entry("fallback_role", role)?;
        }
        match &self.prompt {
            Prompt::Absent => {}
            Prompt::Null => map.serialize_entry("prompt", &())?,
            Prompt::Text(text) => map.serialize_entry("prompt", text)?,
            Prompt::Parts(parts) => map.serialize_entry("prompt_mm", parts)?,
        }
        for (key, affix) in [("begin", &self.begin), ("end", &self.end)] {
            if let Some(affix) = affix {
                map.serialize_entry(key, affix)?;
            }
        }
        if let Some(generate) = self.generate {
            map.serialize_entry("generate", &generate)?;
        }
        map.end()
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
    parts: Option<Vec<ContentPart>>,
    content: Option<Content>,
    begin: Option<String>,
    end: Option<String>,
    generate: Option<bool>,
    unknown: Option<String>,
}

const KEYS: &str = "role, content, prompt, prompt_mm, fallback_role, begin, end, generate, section, pos";

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
                        Key::PromptMm => keys.parts = Some(map.next_value()?),
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
    PromptMm,
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
                    "prompt_mm" => Key::PromptMm,
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
                || keys.parts.is_some()
                || keys.fallback_role.is_some()
                || keys.begin.is_some()
                || keys.end.is_some()
                || keys.generate.is_some();
            if others || keys.pos.is_some() {
                return Err(E::custom("a message with \"content\" has only \"role\" beside it"));
            }
            return Ok(Resolved::Chat(ChatMessage { role, content }));
        }
        let prompt = match (keys.prompt, keys.parts) {
            (prompt, None) => prompt,
            (Prompt::Absent, Some(parts)) => Prompt::Parts(parts),
            _ => return Err(E::custom("a message has both \"prompt\" and \"prompt_mm\"; leave one out")),
        };
        Ok(Resolved::Item(Item::Message(Message {
            role,
            fallback_role: keys.fallback_role,
            prompt,
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
