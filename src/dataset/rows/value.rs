//! Values of rows, and how Python writes them: the references fill templates with `str(value)`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write};

use foldhash::fast::RandomState;
use serde::de::{self, Deserializer};
use serde::ser::{self, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::dataset::source::check_nesting;
use crate::error::Result;
use crate::wording;

/// A value of a row, as Python's `json` module would give it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number of any size, by its digits.
    Int(String),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A dict, in its order.
    Dict(Vec<(Value, Value)>),
}

impl Value {
    /// Reads JSON. Whole numbers keep all their digits, dicts their order; of a repeated key the last
    /// value counts, as in Python.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`](crate::ErrorKind::Parse) with the column.
    pub fn from_json(json: &str) -> Result<Self> {
        check_nesting(json)?;
        let parsed: Raw = serde_json::from_str(json).map_err(|error| wording::in_line(&error))?;
        Ok(parsed.0)
    }

    /// What Python's `str()` makes of it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Int(digits) => digits.into(),
            other => other.repr().into(),
        }
    }

    /// What Python's `repr()` makes of it.
    pub fn repr(&self) -> String {
        let mut out = String::new();
        write_repr(self, &mut out);
        out
    }

    /// Whether Python's `==` holds, for which `True` is 1 and 1 is 1.0.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)),
            (Self::Dict(a), Self::Dict(b)) => {
                let has = |(key, value): &(Self, Self)| b.iter().any(|(k, v)| k.equals(key) && v.equals(value));
                a.len() == b.len() && a.iter().all(has)
            }
            (Self::Int(a), Self::Int(b)) => a == b,
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }

    /// The entries of a JSON object as [`Self::from_json`] reads them; nothing for other JSON.
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

    /// The same as `serde_json` has it; keys that are no strings become their texts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(is) => Json::Bool(*is),
            Self::Int(digits) => match digits.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => digits.parse::<f64>().unwrap_or_default().into(),
            },
            Self::Float(number) => Json::from(*number),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Dict(entries) => {
                entries.iter().map(|(key, value)| (key.text().into_owned(), value.to_json())).collect()
            }
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(is) => Some(f64::from(u8::from(*is))),
            Self::Int(digits) => digits.parse().ok(),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if it is a dict that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(entries) = self else { return None };
        entries.iter().find(|(name, _)| name.as_text() == Some(key)).map(|(_, value)| value)
    }
}

impl Serialize for Value {
    /// Writes JSON: all digits of whole numbers, and dicts in their order. Numbers that are none are null.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is) => serializer.serialize_bool(*is),
            Self::Int(digits) => {
                RawValue::from_string(digits.clone()).map_err(ser::Error::custom)?.serialize(serializer)
            }
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Dict(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key.text(), value))),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

fn write_repr(value: &Value, out: &mut String) {
    let list = |out: &mut String, items: &mut dyn Iterator<Item = String>, open, close| {
        out.push(open);
        out.push_str(&items.collect::<Vec<_>>().join(", "));
        out.push(close);
    };
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(is) => out.push_str(if *is { "True" } else { "False" }),
        Value::Int(digits) => out.push_str(digits),
        Value::Float(number) => write_float(*number, out),
        Value::Text(text) => write_quoted(text, out),
        Value::List(items) => list(out, &mut items.iter().map(Value::repr), '[', ']'),
        Value::Dict(entries) => {
            let entry = |(key, value): &(Value, Value)| format!("{}: {}", key.repr(), value.repr());
            list(out, &mut entries.iter().map(entry), '{', '}');
        }
    }
}

/// The shortest digits that give the number back, with an exponent from 1e16 on and below 1e-4.
fn write_float(number: f64, out: &mut String) {
    if !number.is_finite() {
        out.push_str(match number {
            number if number.is_nan() => "nan",
            number if number > 0.0 => "inf",
            _ => "-inf",
        });
        return;
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("it was written with one");
    let exponent: i32 = exponent.parse().expect("it was written as a number");
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
    } else {
        let _ = write!(out, "{number}{}", if number.fract() == 0.0 { ".0" } else { "" });
    }
}

/// Single quotes unless only double ones need no escape; what cannot be printed is escaped.
fn write_quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match c {
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\\' => out.write_str("\\\\"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => out.write_char(c),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
}

/// Python's `str.isprintable`.
fn is_printable(c: char) -> bool {
    use GeneralCategory as G;
    c == ' '
        || !matches!(
            c.general_category(),
            G::Control
                | G::Format
                | G::Surrogate
                | G::PrivateUse
                | G::Unassigned
                | G::LineSeparator
                | G::ParagraphSeparator
                | G::SpaceSeparator
        )
}

/// A JSON object's entries in their order.
pub(crate) struct Columns {
    pub(crate) entries: Vec<(String, Value)>,
    /// The first key that stands there more than once.
    pub(crate) repeated: Option<String>,
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

/// The entries of a JSON object in their order; of a repeated key the last value, at the first place.
struct Entries<V> {
    entries: Vec<(String, V)>,
    /// The first key that stands there more than once.
    repeated: Option<String>,
}

/// So many keys are compared one by one.
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
                    // A few are found faster by looking at each.
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
    /// Reads any format; whole numbers beyond 64 bits become floats, unlike with [`Value::from_json`].
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
    fn python_writes_values_so() {
        for (json, text) in [
            ("null", "None"),
            ("true", "True"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("1.0", "1.0"),
            ("0.1", "0.1"),
            ("1e16", "1e+16"),
            ("123456789012345680.0", "1.2345678901234568e+17"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e-4", "0.0001"),
            ("1e-5", "1e-05"),
            ("1e-7", "1e-07"),
            ("2.5e-310", "2.5e-310"),
            ("1e400", "inf"),
            (r#""a\n'""#, "a\n'"),
            (r#"["a", "b'c", "d'\"", "\n\u0000\u200b é\u00ad"]"#, r#"['a', "b'c", 'd\'"', '\n\x00\u200b é\xad']"#),
            (r#"{"k": 1, "l": [1.5, null], "k": {}}"#, "{'k': {}, 'l': [1.5, None]}"),
        ] {
            assert_eq!(Value::from_json(json).expect("it is JSON").text(), text, "{json}");
        }
    }

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

    #[test]
    fn python_finds_equal() {
        let value = |json| Value::from_json(json).expect("it is JSON");
        assert!(value("true").equals(&value("1")) && value("1").equals(&value("1.0")));
        assert!(!value("1").equals(&value("\"1\"")) && !value("0").equals(&value("null")));
        assert!(value(r#"{"a": 1, "b": 2}"#).equals(&value(r#"{"b": 2, "a": 1.0}"#)));
    }
}
