//! The values of a row, as Python's `json` module would read them.

use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::value::RawValue;

/// A value of a row, as Python's `json` module would return it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`.
    Null,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of any size, by its digits.
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

/// The length of `-2.2250738585072014e-308`.
const LONGEST_FLOAT: usize = 24;

impl Value {
    /// Python's `==`, for which `True` is 1 and 1 is 1.0. Unlike there, NaN equals NaN: a row that has it is still itself.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)),
            (Self::Dict(a), Self::Dict(b)) => {
                let has = |(key, value): &(Self, Self)| b.iter().any(|(k, v)| k.equals(key) && v.equals(value));
                a.len() == b.len() && a.iter().all(has)
            }
            (Self::Int(a), Self::Int(b)) => a == b,
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b || a.is_nan() && b.is_nan(),
                _ => self == other,
            },
        }
    }

    /// Whether it is a list whose first item is a dict.
    pub(crate) fn lists_dicts(&self) -> bool {
        matches!(self, Self::List(items) if matches!(items[..], [Self::Dict(_), ..]))
    }

    /// The value as `serde_json` has it. Keys that are not strings become their texts, as NaN and infinities do. Integers of
    /// more than 64 bits become floats.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(is) => Json::Bool(*is),
            Self::Int(digits) => match (digits.parse::<i64>(), digits.parse::<u64>()) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) => number.into(),
                _ => digits.parse::<f64>().unwrap_or_default().into(),
            },
            Self::Float(number) if number.is_finite() => Json::from(*number),
            Self::Float(_) => Json::String(self.text().into_owned()),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Dict(entries) => {
                entries.iter().map(|(key, value)| (key.text().into_owned(), value.to_json())).collect()
            }
        }
    }

    /// Its length in bytes as JSON if nothing is escaped, or a few more.
    pub(crate) fn unescaped_len(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => "false".len(),
            Self::Int(digits) => digits.len(),
            Self::Float(_) => LONGEST_FLOAT,
            Self::Text(text) => text.len() + 2,
            Self::List(items) => items.iter().map(|item| item.unescaped_len() + 1).sum::<usize>() + 2,
            Self::Dict(entries) => {
                entries.iter().map(|(key, value)| key.unescaped_len() + value.unescaped_len() + 4).sum::<usize>() + 2
            }
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(is) => Some(f64::from(u8::from(*is))),
            Self::Int(digits) => digits.parse().ok(),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if it is a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if it is a dict with that key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(entries) = self else { return None };
        entries.iter().find(|(name, _)| name.as_text() == Some(key)).map(|(_, value)| value)
    }
}

impl Serialize for Value {
    /// Writes JSON: all digits of integers, and dicts in their order. NaN and infinities, which JSON lacks, become their
    /// texts, so that templates and scores see the same in a row that is written and read again.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(is) => serializer.serialize_bool(*is),
            Self::Int(digits) => {
                RawValue::from_string(digits.clone()).map_err(ser::Error::custom)?.serialize(serializer)
            }
            Self::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Float(_) => serializer.serialize_str(&self.text()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_64_bits_keep_their_digits_as_json() {
        for (written, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854775808"),
            ("12345678901234567890", "12345678901234567890"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
        ] {
            let value = Value::from_json(written).expect("it is JSON");
            assert_eq!(value.to_json().to_string(), expected, "{written}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_texts() {
        let value = Value::List([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5].map(Value::Float).into());
        let expected = r#"["nan","inf","-inf",0.5]"#;
        assert_eq!(serde_json::to_string(&value).expect("it is JSON"), expected);
        assert_eq!(value.to_json().to_string(), expected);
    }

    #[test]
    fn nan_is_itself() {
        let value = |number| Value::List(vec![Value::Float(number)]);
        assert!(value(f64::NAN).equals(&value(f64::NAN)));
        assert!(!value(f64::NAN).equals(&value(0.0)) && !value(f64::INFINITY).equals(&value(f64::NEG_INFINITY)));
    }

    #[test]
    fn python_finds_equal() {
        let value = |json| Value::from_json(json).expect("it is JSON");
        assert!(value("true").equals(&value("1")) && value("1").equals(&value("1.0")));
        assert!(!value("1").equals(&value("\"1\"")) && !value("0").equals(&value("null")));
        assert!(value(r#"{"a": 1, "b": 2}"#).equals(&value(r#"{"b": 2, "a": 1.0}"#)));
    }
}
