//! A conversation as JSON: all of its forms can be read, and are written as they are read.

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::by_form::deserialize_by_form;
use crate::conversation::entry::{Entry, NULL_CONTENT, Resolved};
use crate::conversation::roles::is_openai_role;
use crate::conversation::{Chat, ChatMessage, Content, Conversation, Item, Marker, Message, Prompt};

impl Serialize for Conversation {
    /// Writes what [`Deserialize`] reads, unless it has [`ContentPart::Ids`](crate::conversation::ContentPart::Ids), which are not read.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => items.serialize(serializer),
            Self::Messages(messages) => messages.serialize(serializer),
            Self::Chat(chat) => chat.serialize(serializer),
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
        self.others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl Serialize for ChatMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        if self.content != Content::Null {
            map.serialize_entry("content", &self.content)?;
        }
        self.others.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ChatMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Entry::deserialize(deserializer)?.resolve::<D::Error>()? {
            Resolved::Chat(message) => Ok(message),
            Resolved::Item(_) | Resolved::Bare(_) => Err(de::Error::custom(NULL_CONTENT)),
        }
    }
}

deserialize_by_form!(
    /// Reads a string, a list of `{role, content}` messages, a `PromptList`, or an object with `messages`.
    Conversation,
    "a string, a list of {role, content} messages, or a PromptList", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<Conversation, E> {
        Ok(Conversation::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, chat: A) -> std::result::Result<Conversation, A::Error> {
        Chat::deserialize(de::value::MapAccessDeserializer::new(chat)).map(Conversation::from)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, items: A) -> std::result::Result<Conversation, A::Error> {
        list_of(items, |item| item)
    }
});

/// A list of messages or of a prompt list's items, each as it is read.
pub(super) fn list_of<'de, A: de::SeqAccess<'de>>(
    mut items: A,
    as_read: fn(Entry) -> Entry,
) -> std::result::Result<Conversation, A::Error> {
    let (mut list, mut messages) = (Vec::new(), Vec::new());
    // Messages without content, and whether a prompt list could have them.
    let (mut bare, mut is_list) = (false, false);
    while let Some(item) = items.next_element::<Entry>()? {
        match as_read(item).resolve::<A::Error>()? {
            Resolved::Item(item) => {
                is_list = true;
                list.push(item);
            }
            Resolved::Bare(message) => {
                bare = true;
                is_list |= !is_openai_role(&message.role);
                list.push(Item::Message(message));
            }
            Resolved::Chat(message) => messages.push(message),
        }
        if is_list && !messages.is_empty() {
            return Err(de::Error::custom(
                "messages with \"content\" cannot be mixed with PromptList items with \"prompt\"",
            ));
        }
    }
    if bare && !is_list {
        return Err(de::Error::custom(NULL_CONTENT));
    }
    Ok(if messages.is_empty() { Conversation::List(list) } else { Conversation::Messages(messages) })
}
