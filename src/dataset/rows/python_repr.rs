//! How Python writes values: the references fill templates with `str(value)`.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::dataset::rows::Value;

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

/// The shortest digits that read back as the same number, with an exponent from 1e16 and below 1e-4.
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

/// Single quotes, unless only double ones need no escape; unprintable characters are escaped.
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
