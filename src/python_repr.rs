//! Numbers and strings as Python's `repr` writes them.

use std::fmt::Write;

use unicode_properties::{GeneralCategory as Is, UnicodeGeneralCategory};

/// A float: the shortest digits that read back as the same number, with an exponent from 1e16 and below 1e-4.
pub(crate) fn float(number: f64) -> String {
    if !number.is_finite() {
        return match number {
            number if number.is_nan() => "nan".into(),
            number if number > 0.0 => "inf".into(),
            _ => "-inf".into(),
        };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("it was written with one");
    let exponent: i32 = exponent.parse().expect("it was written as a number");
    if (-4..16).contains(&exponent) {
        let point = if number.fract() == 0.0 { ".0" } else { "" };
        return format!("{number}{point}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A string: single quotes, unless only double ones need no escape. What is not printable is escaped, unless it `stays`.
pub(crate) fn quoted(text: &str, stays: impl Fn(char) -> bool, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        let code = u32::from(c);
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote || c == '\\' => out.extend(['\\', c]),
            c if is_printable(c) || stays(c) => out.push(c),
            _ => {
                let _ = match code {
                    ..0x100 => write!(out, "\\x{code:02x}"),
                    0x100..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Python's `str.isprintable` of a character.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !matches!(
        c.general_category(),
        Is::Control
            | Is::Format
            | Is::Surrogate
            | Is::PrivateUse
            | Is::Unassigned
            | Is::LineSeparator
            | Is::ParagraphSeparator
            | Is::SpaceSeparator
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_python() {
        for (number, written) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (2.5e-310, "2.5e-310"),
            (1.234_567_890_123_456_7e300, "1.2345678901234567e+300"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(number), written);
        }
    }

    #[test]
    fn strings_are_quoted_as_in_python() {
        for (text, written) in [
            ("it's", "\"it's\""),
            ("\"'", "'\"\\''"),
            ("a\n\u{1}\u{a0}\\", "'a\\n\\x01\\xa0\\\\'"),
            ("猫\u{200b}é\u{ad}", "'猫\\u200bé\\xad'"),
            ("\u{E000}\u{E001}\u{F0000}", "'\u{E000}\\ue001\\U000f0000'"),
        ] {
            let mut out = String::new();
            quoted(text, |c| c == '\u{E000}', &mut out);
            assert_eq!(out, written);
        }
    }
}
