//! Reading values from JSON: integers keep their digits, and dicts their order.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer};
use serde_json::value::RawValue;

use crate::dataset::rows::{Entries, Value};
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

    /// The entries of a JSON object as [`Self::from_json`] reads them; none for other JSON.
    pub(crate) fn columns(json: &str) -> Result<Option<Entries<Self>>> {
        check_nesting(json)?;
        if !json.trim_start().starts_with('{') {
            return Self::from_json(json).map(|_| None);
        }
        let columns: Entries<Raw> = serde_json::from_str(json).map_err(|error| wording::in_line(&error))?;
        Ok(Some(columns.map(|value| value.0)))
    }
}

/// A value that is read from raw JSON, so that whole numbers keep their digits.
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

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> de::Visitor<'de> for Visitor<V> {
            type Value = Entries<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries<V>, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
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
    fn too_deep_is_an_error() {
        for json in [format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)), "{\"a\":".repeat(4_000)] {
            let error = Value::from_json(&json).expect_err("it is nested").to_string();
            assert!(error.starts_with("nested more than 128 deep at column "), "{error}");
        }
        assert!(Value::from_json(&format!("{}{}", "[".repeat(128), "]".repeat(128))).is_ok());
    }
}
