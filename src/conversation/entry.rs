//! An entry of a conversation in JSON: a message in any of its forms, a string, or a section marker.

use std::fmt;

use compact_str::CompactString;
use serde::de::{self, Deserialize, Deserializer};
use serde_json::Value;

use crate::by_form::deserialize_by_form;
use crate::conversation::function_call::{calls, read_calls};
use crate::conversation::json_object::Others;
use crate::conversation::others::says_something;
use crate::conversation::roles::{FUNCTION_CALL, is_openai_role, role_of_speaker};
use crate::conversation::{ChatMessage, Content, ContentPart, Item, Marker, Message, Prompt, Section, says_nothing};
use crate::wording::shortened;

/// An entry with the keys of all forms.
pub(super) enum Entry {
    Text(String),
    Object(Box<EntryKeys>),
}

/// What an entry is.
pub(super) enum Resolved {
    Item(Item),
    /// A message with only a role: in a prompt list, it has its role's default content.
    Bare(Message),
    Chat(ChatMessage),
}

/// Each as written, with an inner null if that has a meaning.
#[derive(Default)]
pub(super) struct EntryKeys {
    section: Option<CompactString>,
    pos: Option<CompactString>,
    role: Option<Option<CompactString>>,
    fallback_role: Option<Option<CompactString>>,
    prompt: Option<Option<String>>,
    parts: Option<Vec<ContentPart>>,
    content: Option<Option<Content>>,
    begin: Option<String>,
    end: Option<String>,
    generate: Option<bool>,
    others: Others,
}

deserialize_by_form!(Entry, "a message, a string or a section marker", {
    fn visit_str<E>(self, text: &str) -> std::result::Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entry, A::Error> {
        let mut keys = EntryKeys::default();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Section => put("section", map.next_value()?, &mut keys.section)?,
                Key::Pos => put("pos", map.next_value()?, &mut keys.pos)?,
                Key::Role => put("role", map.next_value()?, &mut keys.role)?,
                Key::FallbackRole => put("fallback_role", map.next_value()?, &mut keys.fallback_role)?,
                Key::Prompt => put("prompt", map.next_value()?, &mut keys.prompt)?,
                Key::PromptMm => put("prompt_mm", map.next_value()?, &mut keys.parts)?,
                Key::Content => put("content", map.next_value()?, &mut keys.content)?,
                Key::Begin => put("begin", map.next_value()?, &mut keys.begin)?,
                Key::End => put("end", map.next_value()?, &mut keys.end)?,
                Key::Generate => put("generate", map.next_value()?, &mut keys.generate)?,
                Key::Other(name) => {
                    if keys.others.contains_key(&name) {
                        return Err(twice(&name));
                    }
                    keys.others.insert(name, map.next_value()?);
                }
            }
        }
        Ok(Entry::Object(Box::new(keys)))
    }
});

fn put<T, E: de::Error>(key: &str, value: T, slot: &mut Option<T>) -> std::result::Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(key)),
    }
}

fn twice<E: de::Error>(key: &str) -> E {
    E::custom(format_args!("{key:?} occurs twice in a message (remove one)"))
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
    Other(String),
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
                    _ => Key::Other(key.to_owned()),
                })
            }
        }
        deserializer.deserialize_identifier(Visitor)
    }
}

impl Entry {
    /// This entry, with an empty content if it is a message without content, or with null.
    pub(super) fn with_content(mut self) -> Self {
        if let Self::Object(keys) = &mut self {
            let is_message = matches!(&keys.role, Some(Some(role)) if is_openai_role(role));
            if is_message && keys.prompt.is_none() && keys.parts.is_none() {
                keys.content.get_or_insert_default().get_or_insert_with(|| "".into());
            }
        }
        self
    }

    pub(super) fn resolve<E: de::Error>(self) -> std::result::Result<Resolved, E> {
        let mut keys = match self {
            Self::Text(text) => return Ok(Resolved::Item(Item::Text(text))),
            Self::Object(keys) => *keys,
        };
        if let Some(calls) = keys.others.get_mut("tool_calls") {
            // These stay as they are, since chat templates may ask whether the key is there.
            let is_plain = calls.is_array() || calls.is_null();
            read_calls(calls).map_err(E::custom)?;
            if !is_plain && says_nothing(calls) {
                keys.others.shift_remove("tool_calls");
            }
        }
        match (&keys.section, &keys.role) {
            (Some(section), _) => Ok(Resolved::Item(Item::Marker(keys.marker(section)?))),
            (None, Some(Some(role))) => {
                let role = role.clone();
                let has_no_content = || says_something(&keys.others) && keys.prompt.is_none() && keys.parts.is_none();
                if keys.content.is_some() || has_no_content() { keys.chat(role) } else { keys.item(role) }
            }
            (None, _) if keys.others.contains_key("from") => keys.sharegpt(),
            (None, _) => Err(E::custom(format_args!("a message has no \"role\" (its keys: {})", keys.names()))),
        }
    }
}

impl EntryKeys {
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
        let affix = self.named().find(|key| matches!(*key, "begin" | "end"));
        if let Some(key) = self.text_key().or(affix) {
            return Err(E::custom(format_args!(
                "a section marker cannot have {key:?} (put it in a message of its own, or remove \"section\" if this is a message)"
            )));
        }
        let has_more = self.named().any(|key| !matches!(key, "section" | "pos"));
        Ok(Marker { section, opens, has_extra_keys: has_more || self.role.is_some() || !self.others.is_empty() })
    }

    /// The keys that conversations give a meaning to, and that are set to something.
    fn named(&self) -> impl Iterator<Item = &'static str> {
        let Self { section, pos, role, fallback_role, prompt, parts, content, begin, end, generate, others: _ } = self;
        let named = [
            ("section", section.is_some()),
            ("pos", pos.is_some()),
            ("role", matches!(role, Some(Some(_)))),
            ("fallback_role", matches!(fallback_role, Some(Some(_)))),
            ("prompt", matches!(prompt, Some(Some(_)))),
            ("prompt_mm", parts.is_some()),
            ("content", matches!(content, Some(Some(_)))),
            ("begin", begin.is_some()),
            ("end", end.is_some()),
            ("generate", generate.is_some()),
        ];
        named.into_iter().filter_map(|(key, is_set)| is_set.then_some(key))
    }

    /// A key of a message that has a text.
    fn text_key(&self) -> Option<&'static str> {
        let has_text = [
            ("prompt", matches!(&self.prompt, Some(Some(text)) if !text.is_empty())),
            ("prompt_mm", matches!(&self.parts, Some(parts) if !parts.is_empty())),
            ("content", matches!(&self.content, Some(Some(content)) if !content.is_empty())),
        ];
        has_text.into_iter().find_map(|(key, has_text)| has_text.then_some(key))
    }

    /// What a turn of ShareGPT in the same object says otherwise, as an error. Thoughts and calls are in one of its texts and
    /// beside the other, and so are not compared.
    fn said_otherwise(&self, role: &str) -> Option<String> {
        let text = |key: &str| self.others.get(key).and_then(Value::as_str);
        let (from, value) = (text("from")?, text("value").filter(|value| !value.trim().is_empty())?);
        let from_role = role_of_speaker(from).filter(|_| !from.eq_ignore_ascii_case(FUNCTION_CALL))?;
        let differ = |[key, other]: [&str; 2], [text, others]: [&str; 2]| {
            let [text, others] = [text, others].map(|text| shortened(text.to_owned(), MOST_SHOWN));
            format!(
                "a message has two forms that differ: {key:?} is {text:?}, but {other:?} is {others:?} (remove one of them)"
            )
        };
        if role_of_speaker(role).is_some_and(|role| role != from_role) {
            return Some(differ(["from", "role"], [from, role]));
        }
        let Some(Some(Content::Text(content))) = &self.content else { return None };
        let is_other = value.trim() != content.trim() && !says_something(&self.others);
        is_other.then(|| differ(["value", "content"], [value, content]))
    }

    /// An OpenAI-style message.
    fn chat<E: de::Error>(self, role: CompactString) -> std::result::Result<Resolved, E> {
        if let Some(differs) = self.said_otherwise(&role) {
            return Err(E::custom(differs));
        }
        if self.named().any(|key| !matches!(key, "role" | "content")) {
            return Err(E::custom(
                "a message with \"content\" cannot have keys of a prompt list (prompt, prompt_mm, fallback_role, begin, end, generate, pos)",
            ));
        }
        let content = match self.content.flatten() {
            Some(content) => content,
            None if says_something(&self.others) => Content::Null,
            None => return Err(E::custom(NULL_CONTENT)),
        };
        Ok(Resolved::Chat(ChatMessage { role, content, others: self.others }))
    }

    /// A message of a prompt list.
    fn item<E: de::Error>(self, role: CompactString) -> std::result::Result<Resolved, E> {
        let is_bare = self.prompt.is_none()
            && self.parts.is_none()
            && self.fallback_role.is_none()
            && self.begin.is_none()
            && self.end.is_none()
            && self.generate.is_none();
        let prompt = match (self.prompt, self.parts) {
            (None, None) => Prompt::Absent,
            (Some(None), None) => Prompt::Null,
            (Some(Some(text)), None) => Prompt::Text(text),
            (None, Some(parts)) => Prompt::Parts(parts),
            _ => return Err(E::custom("a message has both \"prompt\" and \"prompt_mm\" (remove one)")),
        };
        let message = Message {
            role,
            fallback_role: self.fallback_role.flatten(),
            prompt,
            begin: self.begin,
            end: self.end,
            generate: self.generate,
            others: self.others,
        };
        Ok(if is_bare { Resolved::Bare(message) } else { Resolved::Item(Item::Message(message)) })
    }

    /// A turn of `from` and `value`, as in ShareGPT.
    fn sharegpt<E: de::Error>(mut self) -> std::result::Result<Resolved, E> {
        if let Some(key) = self.text_key() {
            return Err(E::custom(match self.others.contains_key("value") {
                true => {
                    format!("a turn of \"from\" and \"value\" cannot also have {key:?} (remove one of the two forms)")
                }
                false => format!(
                    "a message has \"from\" and {key:?}, of two forms (write \"role\" and {key:?}, or \"from\" and \"value\")"
                ),
            }));
        }
        let from = match self.others.shift_remove("from") {
            Some(Value::String(from)) => from,
            _ => {
                return Err(E::custom(
                    "\"from\" must be a string that names the speaker, such as \"human\" or \"gpt\"",
                ));
            }
        };
        let Some(role) = role_of_speaker(&from) else {
            return Err(E::custom(format_args!(
                "unknown speaker {from:?} (\"from\" must be human or user, gpt, assistant, model, chatgpt, bard or bing, system, tool, observation or function_call)"
            )));
        };
        let Some(Value::String(value)) = self.others.shift_remove("value") else {
            return Err(E::custom(format_args!(
                "the turn of {from:?} has no string \"value\" (an empty turn has \"value\": \"\")"
            )));
        };
        if !from.eq_ignore_ascii_case(FUNCTION_CALL) {
            return Ok(Resolved::Chat(ChatMessage { role: role.into(), content: value.into(), others: self.others }));
        }
        let Some((thoughts, calls)) = calls(&value) else {
            return Err(E::custom(format_args!(
                "the value of {from:?} must be JSON, a call or a list of calls: {{\"name\": …, \"arguments\": …}}"
            )));
        };
        self.others.insert("tool_calls".into(), calls);
        Ok(Resolved::Chat(ChatMessage { role: role.into(), content: thoughts.into(), others: self.others }))
    }

    /// The keys, for an error.
    fn names(&self) -> String {
        let others = self.others.keys().take(8).map(|key| format!("{key:?}"));
        let names: Vec<String> = self.named().map(|key| format!("{key:?}")).chain(others).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }
}

pub(super) const NULL_CONTENT: &str = "a message has no \"content\", or null (an empty message has \"content\": \"\")";

/// The most characters of a text in an error.
const MOST_SHOWN: usize = 40;
