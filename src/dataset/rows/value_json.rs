//! Reading values from JSON: integers keep their digits, and dicts their order.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_json::value::RawValue;

use crate::dataset::rows::Value;
use crate::dataset::source::check_nesting;
use crate::error::Result;
use crate::wording;

impl Value {
    /// Reads JSON. Integers keep all their digits, dicts their order; if a key is repeated, the last value counts, as
    /// in Python.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`](crate::ErrorKind::Parse) with the column.
    pub fn from_json(json: &str) -> Result<Self> {
        check_nesting(json)?;
        let parsed: Raw = serde_json::from_str(json).map_err(|error| wording::in_line(&error))?;
        Ok(parsed.0)
    }

    /// The entries of a JSON object, read like [`Self::from_json`]; none for other JSON.
    pub(crate) fn columns(json: &str) -> Result<Option<Columns>> {
        check_nesting(json)?;
        if !json.trim_start().starts_with('{') {
            return Self::from_json(json).map(|_| None);
        }
        let Entries { entries, repeated }: Entries<Raw> =
            serde_json::from_str(json).map_err(|error| wording::in_line(&error))?;
        let entries = entries.into_iter().map(|(key, value)| (key, value.0)).collect();
        Ok(Some(Columns { entries, repeated }))
    }
}

/// A JSON object's entries in their order.
pub(crate) struct Columns {
    pub(crate) entries: Vec<(String, Value)>,
    /// The first key that occurs more than once.
    pub(crate) repeated: Option<String>,
}

/// A value that is read from raw JSON, so that integers keep their digits.
struct Raw(Value);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        let failed = |error: serde_json::Error| de::Error::custom(error);
        Ok(Self(match raw.as_bytes() {
            [b'"', ..] => Value::Text(serde_json::from_str(raw).map_err(failed)?),
            [b'[', ..] => {
                let items: Vec<Self> = serde_json::from_str(raw).map_err(failed)?;
                Value::List(items.into_iter().map(|item| item.0).collect())
            }
            [b'{', ..] => {
                let entries: Entries<Self> = serde_json::from_str(raw).map_err(failed)?;
                Value::Dict(entries.entries.into_iter().map(|(key, value)| (Value::Text(key), value.0)).collect())
            }
            b"null" => Value::Null,
            b"true" => Value::Bool(true),
            b"false" => Value::Bool(false),
            _ if raw.contains(['.', 'e', 'E']) => Value::Float(raw.parse().map_err(de::Error::custom)?),
            b"-0" => Value::Int("0".into()),
            _ => Value::Int(raw.to_owned()),
        }))
    }
}

/// The entries of a JSON object in order; a repeated key has its last value, at its first position.
struct Entries<V> {
    entries: Vec<(String, V)>,
    /// The first key that occurs more than once.
    repeated: Option<String>,
}

/// Up to this many keys are compared one by one.
const FEW: usize = 16;

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> de::Visitor<'de> for Visitor<V> {
            type Value = Entries<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries<V>, A::Error> {
                let mut entries: Vec<(String, V)> = Vec::new();
                let mut places: HashMap<String, usize, RandomState> = HashMap::default();
                let mut repeated = None;
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    // A few are found faster by looking at each one.
                    if entries.len() == FEW {
                        places.extend(entries.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)));
                    }
                    let known = match entries.len() {
                        ..FEW => entries.iter().position(|(known, _)| *known == key),
                        _ => places.get(&key).copied(),
                    };
                    match known {
                        Some(place) => {
                            entries[place].1 = value;
                            repeated.get_or_insert(key);
                        }
                        None => {
                            if entries.len() >= FEW {
                                places.insert(key.clone(), entries.len());
                            }
                            entries.push((key, value));
                        }
                    }
                }
                Ok(Entries { entries, repeated })
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Reads any format; integers beyond 64 bits become floats, unlike with [`Value::from_json`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> std::result::Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E>(self, is: bool) -> std::result::Result<Value, E> {
                Ok(Value::Bool(is))
            }

            fn visit_i64<E>(self, number: i64) -> std::result::Result<Value, E> {
                Ok(Value::Int(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> std::result::Result<Value, E> {
                Ok(Value::Int(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> std::result::Result<Value, E> {
                Ok(Value::Float(number))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Value::List(list))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<Value, A::Error> {
                let entries = Entries::<Value>::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Value::Dict(entries.entries.into_iter().map(|(key, value)| (Value::Text(key), value)).collect()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_repeated_key_the_last_value_stands_at_the_first_place() {
        for more in [0, FEW, 3 * FEW] {
            let keys: String = (0..more).map(|i| format!("\"k{i}\": {i}, ")).collect();
            let json = format!(r#"{{"a": 1, {keys}"b": 2, "a": 3, "b": 4, "b": 5}}"#);
            let columns = Value::columns(&json).expect("it is JSON").expect("it is an object");
            assert_eq!(columns.repeated.as_deref(), Some("a"));
            assert_eq!(columns.entries.len(), more + 2);
            assert_eq!(columns.entries.first(), Some(&("a".to_owned(), Value::Int("3".into()))));
            assert_eq!(columns.entries.last(), Some(&("b".to_owned(), Value::Int("5".into()))));
        }
    }

    #[test]
    fn too_deep_is_an_error() {
        for json in [format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)), "{\"a\":".repeat(4_000)] {
            let error = Value::from_json(&json).expect_err("it is nested").to_string();
            assert!(error.starts_with("nested more than 128 deep at column "), "{error}");
        }
        assert!(Value::from_json(&format!("{}{}", "[".repeat(128), "]".repeat(128))).is_ok());
    }
}
