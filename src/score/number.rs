//! The last number of a text, in a normalized form.

use std::sync::LazyLock;

use regex::Regex;

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+").expect("it is a regular expression"));

/// The last number, without commas, a plus, and redundant zeros.
pub(super) fn last(text: &str) -> Option<String> {
    let found = NUMBER.find_iter(text).last()?;
    let digits = found.as_str().replace(',', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let number = match (if whole.is_empty() { "0" } else { whole }, fraction) {
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    };
    let sign = if number != "0" && is_negative(&text[..found.start()]) { "-" } else { "" };
    Some(format!("{sign}{number}"))
}

/// Whether there is a minus before it, and not between two numbers or words; a currency may come between.
fn is_negative(before: &str) -> bool {
    let before = before.trim_end_matches(['$', '€', '£', '¥']);
    let Some(before) = before.strip_suffix(['-', '−']) else { return false };
    !before.ends_with(|c: char| c.is_alphanumeric() || c == ')')
}

#[cfg(test)]
mod tests {
    use super::last;

    #[test]
    fn numbers_are_written_in_one_way() {
        for (text, number) in [
            ("18", "18"),
            ("The answer is 18.", "18"),
            ("#### 1,234,567", "1234567"),
            ("$1,234.50", "1234.5"),
            ("18.00", "18"),
            ("1,2,3", "3"),
            ("12,34", "34"),
            ("007", "7"),
            ("0.0", "0"),
            ("-0", "0"),
            (".5", "0.5"),
            ("-5", "-5"),
            ("is −$5", "-5"),
            ("$-5", "-5"),
            ("10-2", "2"),
            ("covid-19", "19"),
            ("3 - -2", "-2"),
            ("5%", "5"),
            ("from 3 to 4.", "4"),
        ] {
            assert_eq!(last(text).as_deref(), Some(number), "{text}");
        }
        assert_eq!(last("none"), None);
    }
}
