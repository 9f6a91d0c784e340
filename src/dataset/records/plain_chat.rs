//! The commonest record, read in one pass: messages of a role and a text, perhaps with an id and keys that nobody reads.

use std::fmt;

use compact_str::CompactString;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use crate::conversation::{ChatMessage, Conversation};
use crate::dataset::records::Record;
use crate::dataset::records::keys::is_record_key;
use crate::dataset::source::check_nesting;

/// Reads such a record. None for any other one, and for a broken one: whoever reads all records says what is wrong.
pub(super) fn read(json: &str) -> Option<Record<'_>> {
    let PlainChat { id, messages, has_unread } = serde_json::from_str(json).ok()?;
    if has_unread {
        check_nesting(json).ok()?;
    }
    if id.is_some_and(|id| id.get().starts_with(['{', '[', 't', 'f'])) {
        return None;
    }
    let id = id.filter(|id| id.get() != "null");
    (!messages.is_empty()).then(|| Record { id, ..Record::of(Conversation::Messages(messages)) })
}

struct PlainChat<'a> {
    id: Option<&'a RawValue>,
    messages: Vec<ChatMessage>,
    /// Whether there are other keys, whose values may be nested.
    has_unread: bool,
}

impl<'de> Deserialize<'de> for PlainChat<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PlainChat<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a plain chat")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainChat<'de>, A::Error> {
                let (mut id, mut messages, mut has_unread) = (None, None, false);
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "id" if id.is_none() => id = Some(map.next_value()?),
                        "messages" if messages.is_none() => messages = Some(map.next_value::<Vec<PlainMessage>>()?),
                        key if is_record_key(key) => return Err(another()),
                        _ => {
                            has_unread = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                let messages = messages.ok_or_else(another)?;
                let messages = messages.into_iter().map(|message| message.0).collect();
                Ok(PlainChat { id, messages, has_unread })
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

struct PlainMessage(ChatMessage);

impl<'de> Deserialize<'de> for PlainMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PlainMessage;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a role and a text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlainMessage, A::Error> {
                let (mut role, mut content) = (None, None);
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "role" if role.is_none() => role = Some(map.next_value::<CompactString>()?),
                        "content" if content.is_none() => content = Some(map.next_value::<String>()?),
                        _ => return Err(another()),
                    }
                }
                match (role, content) {
                    (Some(role), Some(content)) => Ok(PlainMessage(ChatMessage::new(role, content))),
                    _ => Err(another()),
                }
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

fn another<E: de::Error>() -> E {
    E::custom("another kind of record")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::records::reads_for::ReadsFor;
    use crate::dataset::records::{InputFormat, Keys, formats};

    const PLAIN: [&str; 8] = [
        r#"{"messages":[{"role":"user","content":"a"}],"x":[[{"y":[1e400]}]]}"#,
        r#"{"messages":[{"role":"user","content":"Hi!"}]}"#,
        r#" { "id" : "a\n" , "messages" : [ { "content" : "a\\\"\u00e9\ud83d\ude00" , "role" : "us\u0065r" } ] } "#,
        r#"{"id":7,"source":"x","score":0.5,"n":-1,"ok":true,"none":null,"messages":[{"role":"system","content":""}]}"#,
        r#"{"id":null,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#,
        r#"{"id":1e400,"messages":[{"role":"","content":"é"}]}"#,
        r#"{"x":1,"x":2,"messages":[{"role":"HUMAN","content":"twice"}]}"#,
        r#"{"id":18446744073709551616,"messages":[{"role":"user","content":"{[{["}]}"#,
    ];

    const OTHERS: [&str; 18] = [
        r#"{}"#,
        r#"[]"#,
        r#"{"messages":[]}"#,
        r#"{"messages":null}"#,
        r#"{"messages":"Hi!"}"#,
        r#"{"messages":["Hi!"]}"#,
        r#"{"messages":[{"role":"user"}]}"#,
        r#"{"messages":[{"role":"user","content":null}]}"#,
        r#"{"messages":[{"role":"user","content":[]}]}"#,
        r#"{"messages":[{"role":"user","prompt":"Hi!"}]}"#,
        r#"{"messages":[{"role":"user","content":"a","name":"b"}]}"#,
        r#"{"messages":[{"role":"user","role":"user","content":"a"}]}"#,
        r#"{"messages":[{"role":"user","content":"a"}],"messages":[]}"#,
        r#"{"messages":[{"role":"user","content":"a"}],"tools":[]}"#,
        r#"{"messages":[{"role":"user","content":"a"}],"prompt":"a"}"#,
        r#"{"messages":[{"role":"user","content":"a"}],"id":true}"#,
        r#"{"messages":[{"role":"user","content":"\ud800"}]}"#,
        r#"{"messages":[{"role":"user","content":"a"}]} x"#,
    ];

    #[test]
    fn plain_chats_are_what_all_records_are() {
        for json in PLAIN {
            let record = read(json).unwrap_or_else(|| panic!("{json} is plain"));
            let keys = Keys::parse(json).expect("it has keys");
            for reads_for in [ReadsFor::Template, ReadsFor::Server, ReadsFor::ChatTemplate] {
                for format in [InputFormat::Auto, InputFormat::Messages] {
                    let general = formats::read(format, &keys, reads_for).expect("it is a record");
                    assert_eq!(format!("{record:?}"), format!("{general:?}"), "{json}");
                }
            }
        }
    }

    #[test]
    fn others_are_left_to_the_general_way() {
        let deep =
            format!(r#"{{"messages":[{{"role":"user","content":"a"}}],"x":{}0{}}}"#, "[".repeat(128), "]".repeat(128));
        for json in OTHERS.into_iter().chain([&*deep]) {
            assert!(read(json).is_none(), "{json}");
        }
    }
}
