//! How Python writes values: the references fill templates with `str(value)`.

use std::borrow::Cow;

use crate::dataset::rows::Value;
use crate::python_repr::{float, quoted};
use crate::wording::shortened;

/// The most characters of a value that an error shows.
const LONGEST: usize = 200;

impl Value {
    /// The result of Python's `str()`.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Int(digits) => digits.into(),
            other => other.repr().into(),
        }
    }

    /// The result of Python's `repr()`.
    pub fn repr(&self) -> String {
        let mut out = String::new();
        write_repr(self, &mut out);
        out
    }

    /// The result of Python's `repr()` for an error: its beginning, if it is long.
    pub(crate) fn shown(&self) -> String {
        shortened(self.repr(), LONGEST)
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
        Value::Float(number) => out.push_str(&float(*number)),
        Value::Text(text) => quoted(text, |_| false, out),
        Value::List(items) => list(out, &mut items.iter().map(Value::repr), '[', ']'),
        Value::Dict(entries) => {
            let entry = |(key, value): &(Value, Value)| format!("{}: {}", key.repr(), value.repr());
            list(out, &mut entries.iter().map(entry), '{', '}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_like_in_python() {
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
}
