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
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (digits, exponent) = shortest(number.abs());
    let (first, others) = digits.split_at(1);
    match usize::try_from(exponent) {
        Ok(exponent @ ..16) => {
            let (whole, part) = digits.split_at(digits.len().min(exponent + 1));
            format!("{sign}{whole:0<width$}.{}", if part.is_empty() { "0" } else { part }, width = exponent + 1)
        }
        Err(_) if exponent >= -4 => {
            format!("{sign}0.{digits:0>width$}", width = digits.len() + (-exponent) as usize - 1)
        }
        _ => {
            let point = if others.is_empty() { "" } else { "." };
            format!("{sign}{first}{point}{others}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
    }
}

/// The digits of a number that is not negative, and the power of ten of the first one. Of two that are equally near,
/// the standard library writes the larger one, and Python the even one.
fn shortest(number: f64) -> (String, i32) {
    let mut buffer = zmij::Buffer::new();
    let written = buffer.format_finite(number);
    let (mantissa, exponent) = written.split_once('e').unwrap_or((written, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, part].concat();
    let digits = all.trim_start_matches('0');
    let exponent = exponent.parse().unwrap_or(0) + whole.len() as i32 - 1 - (all.len() - digits.len()) as i32;
    match digits.trim_end_matches('0') {
        "" => ("0".to_owned(), 0),
        digits => (digits.to_owned(), exponent),
    }
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
            ("529.15386962890625".parse().expect("it is a number"), "529.1538696289062"),
            (0.1, "0.1"),
            (123.0, "123.0"),
            (1e22, "1e+22"),
            (5e-324, "5e-324"),
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
