//! The keys of a record that any format reads, each with its value as raw JSON.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use crate::dataset::records::parse_error::{messages_error, parse_error};
use crate::dataset::source::rejected_line;
use crate::error::{Error, ErrorKind, Result};

/// The keys, in no particular order.
const KNOWN: [&str; 53] = [
    "add_generation_prompt",
    "audio",
    "audios",
    "body",
    "chat_template",
    "chat_template_kwargs",
    "chosen",
    "chosen_messages",
    "completion",
    "content",
    "continue_final_message",
    "conversation",
    "conversation_id",
    "conversations",
    "custom_id",
    "data",
    "documents",
    "functions",
    "history",
    "id",
    "image",
    "images",
    "input",
    "instruction",
    "instructions",
    "max_out_len",
    "messages",
    "method",
    "non_preferred_output",
    "output",
    "parent_id",
    "preferred_output",
    "previous_response_id",
    "prompt",
    "prompt_id",
    "query",
    "question",
    "rejected",
    "rejected_messages",
    "rejected_response",
    "response",
    "role",
    "section",
    "system",
    "system_prompt",
    "text",
    "tools",
    "turns",
    "from",
    "url",
    "value",
    "video",
    "videos",
];

/// Those whose values are messages or turns, if they are lists.
const MESSAGES: [&str; 13] = [
    "chosen",
    "chosen_messages",
    "completion",
    "conversation",
    "conversations",
    "messages",
    "non_preferred_output",
    "preferred_output",
    "prompt",
    "rejected",
    "rejected_messages",
    "rejected_response",
    "response",
];

/// Whether a record of any format has something to read under this key.
///
/// ```
/// use metatok::dataset::records::is_record_key;
///
/// assert!(is_record_key("messages") && !is_record_key("score"));
/// ```
pub fn is_record_key(key: &str) -> bool {
    KNOWN.contains(&key)
}

/// At most this many keys are listed in an error.
const NAMED: usize = 12;

/// A record that is an object.
pub(crate) struct Keys<'a> {
    record: &'a str,
    /// The object: the record itself, or an object in it.
    object: &'a str,
    values: [Option<&'a RawValue>; KNOWN.len()],
}

impl<'a> Keys<'a> {
    /// Reads an object's keys. A null value counts as missing.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with the column, and for a known key that occurs twice.
    pub(crate) fn parse(record: &'a str) -> Result<Self> {
        Self::within(record, record)
    }

    fn within(record: &'a str, object: &'a str) -> Result<Self> {
        let Values(values) = serde_json::from_str(object).map_err(|error| parse_error(record, object, &error))?;
        Ok(Self { record, object, values })
    }

    /// The value of a known key as written.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        self.value(key).map(RawValue::get)
    }

    fn value(&self, key: &str) -> Option<&'a RawValue> {
        let index = KNOWN.iter().position(|known| *known == key)?;
        self.values[index]
    }

    /// Whether the object has the key with a value other than null.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// The value of a key, if it is there.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with the key and the column.
    pub(crate) fn get<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>> {
        let Some(raw) = self.raw(key) else { return Ok(None) };
        let failed = |error: serde_json::Error| match MESSAGES.contains(&key) {
            true => messages_error(self.record, raw, &error),
            false => parse_error(self.record, raw, &error),
        };
        serde_json::from_str(raw).map(Some).map_err(|error| failed(error).at(key))
    }

    /// A text, empty if there is none.
    ///
    /// # Errors
    /// The same as for [`Self::get`].
    pub(crate) fn text(&self, key: &str) -> Result<String> {
        Ok(self.get(key)?.unwrap_or_default())
    }

    /// Whether a value is an object, a list or a string.
    pub(crate) fn begins(&self, key: &str, with: char) -> bool {
        self.raw(key).is_some_and(|raw| raw.starts_with(with))
    }

    /// Whether messages or turns are in a list.
    pub(crate) fn has_list_of_messages(&self) -> bool {
        MESSAGES.into_iter().any(|key| self.begins(key, '['))
    }

    /// Whether a value lists messages.
    pub(crate) fn lists_messages(&self, key: &str) -> bool {
        self.raw(key).and_then(keys_of_first).is_some_and(|keys| keys.contains("role"))
    }

    /// Whether a value is as good as missing: an empty string, list or object, `false`, or an empty list as a string.
    pub(crate) fn is_empty(&self, key: &str) -> bool {
        self.raw(key).is_none_or(|raw| {
            let bare: String = raw.chars().filter(|c| !c.is_ascii_whitespace()).take(6).collect();
            matches!(bare.as_str(), "\"\"" | "[]" | "{}" | "false" | "\"[]\"" | "\"{}\"")
        })
    }

    /// The keys of a nested object.
    ///
    /// # Errors
    /// The same as for [`Self::parse`], and if it is not an object.
    pub(crate) fn inner(&self, key: &str) -> Result<Option<Self>> {
        self.raw(key).map(|raw| Self::within(self.record, raw).map_err(|error| error.at(key))).transpose()
    }

    /// The first of these keys that identifies the record.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an `id` that is neither a string nor a number.
    pub(crate) fn id(&self) -> Result<Option<&'a RawValue>> {
        let is_id = |id: &&RawValue| !id.get().starts_with(['{', '[', 't', 'f']);
        if let Some(id) = self.value("id") {
            return match is_id(&id) {
                true => Ok(Some(id)),
                false => Err(ErrorKind::Invalid("id: expected a string or a number".into()).into()),
            };
        }
        Ok(["custom_id", "conversation_id", "prompt_id"].iter().find_map(|key| self.value(key).filter(is_id)))
    }

    /// The value of a key that no format reads from records, if it is there and of this type.
    pub(crate) fn other<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        let all: HashMap<Cow<'_, str>, &'a RawValue> = serde_json::from_str(self.object).ok()?;
        serde_json::from_str(all.get(key)?.get()).ok()
    }

    /// Those of these keys that the object has with a value other than null, whether they are known or not.
    pub(crate) fn given<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        let all: HashMap<Cow<'_, str>, Option<IgnoredAny>> = serde_json::from_str(self.object).unwrap_or_default();
        names.iter().copied().filter(|name| all.get(*name).is_some_and(Option::is_some)).collect()
    }

    /// The error for a line of a file of rejected lines; none if it is not one.
    pub(crate) fn rejected_line(&self) -> Option<Error> {
        rejected_line(self.object)
    }

    /// A key, known or not, whose value lists objects, as in a file that is one object with its records in a list: if there
    /// are several, one whose first object has messages. None lists messages itself.
    pub(crate) fn list_of_objects(&self) -> Option<String> {
        let all: BTreeMap<String, &RawValue> = serde_json::from_str(self.object).unwrap_or_default();
        let lists = all.into_iter().filter_map(|(key, value)| Some((key, keys_of_first(value.get())?)));
        let mut lists: Vec<_> = lists.filter(|(_, first)| !first.contains("role")).collect();
        let with_messages = lists.iter().position(|(_, first)| first.contains("messages"));
        (!lists.is_empty()).then(|| lists.swap_remove(with_messages.unwrap_or(0)).0)
    }

    /// The keys that it has, for an error: known or not, quoted, and which of them are null.
    pub(crate) fn names(&self) -> String {
        let Names(names, more) = serde_json::from_str(self.object).unwrap_or_default();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        if names.is_empty() { "no keys".into() } else { names.join(", ") + &more }
    }
}

/// The keys of the first item of a list, if that is an object.
fn keys_of_first(list: &str) -> Option<BTreeSet<String>> {
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let first: BTreeMap<String, IgnoredAny> = serde_json::from_str(items.first()?.get()).ok()?;
    Some(first.into_keys().collect())
}

/// Whether a value is a list whose first item is an object.
pub(crate) fn begins_with_object(value: &str) -> bool {
    value.strip_prefix('[').is_some_and(|items| items.trim_start().starts_with('{'))
}

struct Values<'a>([Option<&'a RawValue>; KNOWN.len()]);

impl<'de> Deserialize<'de> for Values<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Values<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Values<'de>, A::Error> {
                let (mut values, mut seen) = ([None; KNOWN.len()], [false; KNOWN.len()]);
                while let Some(Key(known)) = map.next_key()? {
                    let Some(index) = known else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    let value: &RawValue = map.next_value()?;
                    if std::mem::replace(&mut seen[index], true) {
                        let key = KNOWN[index];
                        return Err(de::Error::custom(format_args!("{key:?} occurs twice (remove one)")));
                    }
                    values[index] = Some(value).filter(|value| value.get() != "null");
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// The position of a key among the known keys.
struct Key(Option<usize>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> std::result::Result<Key, E> {
                Ok(Key(KNOWN.iter().position(|known| *known == key)))
            }
        }
        deserializer.deserialize_identifier(Visitor)
    }
}

/// The first keys, quoted and with their value if it is null, and how many more there are.
#[derive(Default)]
struct Names(Vec<String>, usize);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Names, A::Error> {
                let mut names = Names::default();
                while let Some((key, value)) = map.next_entry::<String, Option<IgnoredAny>>()? {
                    let null = if value.is_none() { " (null)" } else { "" };
                    match names.0.len() {
                        ..NAMED => names.0.push(format!("{:?}{null}", key.chars().take(60).collect::<String>())),
                        _ => names.1 += 1,
                    }
                }
                Ok(names)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
