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
        match serde_json::from_str::<Read<false>>(json) {
            Ok(Read(value)) if !value.has_float() => Ok(value),
            _ => Ok(serde_json::from_str::<Raw>(json).map_err(|error| wording::in_line_of(json, &error))?.0),
        }
    }

    /// The entries of a JSON object as [`Self::from_json`] reads them; none for other JSON.
    pub(crate) fn columns(json: &str) -> Result<Option<Entries<Self>>> {
        check_nesting(json)?;
        if !json.trim_start().starts_with('{') {
            return Self::from_json(json).map(|_| None);
        }
        match serde_json::from_str::<Entries<Read<false>>>(json) {
            Ok(columns) if !columns.entries.iter().any(|(_, value)| value.0.has_float()) => {
                Ok(Some(columns.map(|value| value.0)))
            }
            _ => {
                let columns: Entries<Raw> =
                    serde_json::from_str(json).map_err(|error| wording::in_line_of(json, &error))?;
                Ok(Some(columns.map(|value| value.0)))
            }
        }
    }

    /// Whether there is a number that may have lost digits, or its sign, unless it was read from raw JSON.
    fn has_float(&self) -> bool {
        match self {
            Self::Float(_) => true,
            Self::List(items) => items.iter().any(Self::has_float),
            Self::Dict(entries) => entries.iter().any(|(_, value)| value.has_float()),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Text(_) => false,
        }
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

/// The key by which the TOML parser gives a date: an object with its text.
const TOML_DATE: &str = "$__toml_private_datetime";

impl<'de> Deserialize<'de> for Value {
    /// Reads any format; integers beyond 64 bits become floats, unlike with [`Value::from_json`], and dates of TOML their
    /// texts.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Read::<true>::deserialize(deserializer).map(|read| read.0)
    }
}

/// A value of a format that has dates like TOML, or has none: in a row of JSON, an object is what it says.
struct Read<const HAS_DATES: bool>(Value);

impl<'de, const HAS_DATES: bool> Deserialize<'de> for Read<HAS_DATES> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor<const HAS_DATES: bool>;
        impl<'de, const HAS_DATES: bool> de::Visitor<'de> for Visitor<HAS_DATES> {
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
                while let Some(Read::<HAS_DATES>(item)) = items.next_element()? {
                    list.push(item);
                }
                Ok(Value::List(list))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<Value, A::Error> {
                let entries = Entries::<Read<HAS_DATES>>::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let entries = entries.map(|value| value.0);
                if let [(key, Value::Text(date))] = &entries.entries[..]
                    && HAS_DATES
                    && key == TOML_DATE
                {
                    return Ok(Value::Text(date.clone()));
                }
                Ok(Value::Dict(entries.entries.into_iter().map(|(key, value)| (Value::Text(key), value)).collect()))
            }
        }
        deserializer.deserialize_any(Visitor::<HAS_DATES>).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// JSON with all kinds of numbers, strings and keys.
    fn json() -> impl Strategy<Value = String> {
        let plain = prop::sample::select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "-7",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775809",
            "1.0",
            "-0.0",
            "1e400",
            "2E3",
            "\"\"",
            "\"a\"",
            "\"\\u00e9\\n\"",
            "\"\\ud800\"",
            "nul",
            "01",
        ]);
        plain.prop_map(str::to_owned).prop_recursive(4, 32, 4, |inner| {
            let key = prop::sample::select(vec!["a", "b", "a\\u0062", ""]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec((key, inner), 0..4).prop_map(|entries| {
                    let entries: Vec<String> =
                        entries.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                    format!("{{{}}}", entries.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_are_those_of_raw_json(json in json()) {
            let raw = serde_json::from_str::<Raw>(&json).map(|raw| raw.0);
            let expected = raw.map_err(|error| wording::in_line(&error).to_string());
            let found = Value::from_json(&json).map_err(|error| error.to_string());
            prop_assert_eq!(&found, &expected);
            if json.starts_with('{') {
                let row = crate::Row::from_json(&json).map_err(|error| error.to_string());
                let row = row.map(|row| Value::Dict(row.iter().map(|(name, value)| (name.into(), value.clone())).collect()));
                prop_assert_eq!(row.is_ok(), expected.is_ok());
                prop_assert_eq!(row.ok(), expected.ok());
            }
        }
    }

    #[test]
    fn only_toml_has_dates() {
        let json = format!("{{\"{TOML_DATE}\": \"2024-01-01\"}}");
        let kept = Value::Dict(vec![(TOML_DATE.into(), "2024-01-01".into())]);
        assert_eq!(Value::from_json(&json).ok(), Some(kept.clone()));
        let row = crate::Row::from_json(&format!("{{\"a\": [{json}]}}")).expect("it is a row");
        assert_eq!(row.get("a"), Some(&Value::List(vec![kept])));
        let table: Value = toml::from_str("a = 2024-01-01").expect("it is TOML");
        assert_eq!(table.get("a"), Some(&"2024-01-01".into()));
    }

    #[test]
    fn too_deep_is_an_error() {
        for json in [format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)), "{\"a\":".repeat(4_000)] {
            let error = Value::from_json(&json).expect_err("it is nested").to_string();
            assert!(error.starts_with("nested more than 127 deep at column "), "{error}");
        }
        assert!(Value::from_json(&format!("{}{}", "[".repeat(127), "]".repeat(127))).is_ok());
    }
}
