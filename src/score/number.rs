//! The last number of a text, in a normalized form.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?").expect("it is a regular expression")
});

static LATEX_COMMAS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{,\}|\\,|,\\!").expect("it is a regular expression"));

/// The signs that people write for a minus: the hyphen, also the one without a break, the en dash, and the minus itself.
const MINUSES: [char; 5] = ['-', '‑', '–', '−', '－'];

/// The largest exponent that is written out, in either direction.
const LARGEST_EXPONENT: u32 = 999;

/// The last number, without commas, a plus, and redundant zeros.
pub(super) fn last(text: &str) -> Option<String> {
    let text = with_ascii_digits(text);
    let text = &*with_plain_commas(&text);
    let found = NUMBERS.find_iter(text).last()?;
    let start = found.start() + start_of_last(found.as_str());
    let digits = plain(&text[start..found.end()].replace(',', ""));
    if digits.contains(['e', 'E']) {
        // It is too large or too small to write out.
        return Some(digits);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let number = match (if whole.is_empty() { "0" } else { whole }, fraction) {
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    };
    let sign = if number != "0" && is_negative(&text[..start]) { "-" } else { "" };
    Some(format!("{sign}{number}"))
}

/// A text with ASCII's digits in place of those of other scripts, which Python's `float` reads too.
fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    let is_other = |c: char| !c.is_ascii() && is_decimal(c);
    match text.contains(is_other) {
        true => text.chars().map(|c| if is_other(c) { ascii_digit(c) } else { c }).collect::<String>().into(),
        false => text.into(),
    }
}

/// A text in which the commas of numbers are not spelled as in LaTeX: `1{,}234`, `1\,234`, `1,\!234`.
fn with_plain_commas(text: &str) -> Cow<'_, str> {
    LATEX_COMMAS.replace_all(text, ",")
}

fn is_decimal(c: char) -> bool {
    c.general_category() == GeneralCategory::DecimalNumber
}

/// The digits of a script follow one another from zero to nine, and those of the next style may follow them.
fn ascii_digit(c: char) -> char {
    let before = ('\0'..c).rev().take_while(|c| is_decimal(*c)).count();
    char::from(b"0123456789"[before % 10])
}

/// A number without the exponent that it may have.
fn plain(number: &str) -> String {
    let Some((digits, exponent)) = number.split_once(['e', 'E']) else { return number.to_owned() };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i32>() else { return number.to_owned() };
    if exponent.unsigned_abs() > LARGEST_EXPONENT {
        return number.to_owned();
    }
    let zeros = "0".repeat(exponent.unsigned_abs() as usize);
    match exponent.is_negative() {
        true => {
            let whole = format!("{zeros}{whole}");
            let (whole, moved) = whole.split_at(whole.len() - zeros.len());
            format!("{whole}.{moved}{fraction}")
        }
        false => {
            let fraction = format!("{fraction}{zeros}");
            let (moved, fraction) = fraction.split_at(zeros.len());
            format!("{whole}{moved}.{fraction}")
        }
    }
}

/// Where the last of numbers between commas begins: commas are within it where three digits stand between them, or two
/// before the last three, as in India. Fewer digits may only begin it.
fn start_of_last(numbers: &str) -> usize {
    let whole = numbers.split(['.', 'e', 'E']).next().unwrap_or_default();
    let (mut start, mut size) = (whole.len() + 1, 3);
    for (place, group) in whole.rsplit(',').enumerate() {
        if place == 1 && group.len() == 2 {
            size = 2;
        }
        if place > 0 && group.len() > size {
            break;
        }
        start -= group.len() + 1;
        if group.len() != size {
            break;
        }
    }
    start
}

/// Whether there is a minus before it, and not between two numbers or words; a currency may come between.
fn is_negative(before: &str) -> bool {
    let is_currency = |c: char| c == '\\' || c.general_category() == GeneralCategory::CurrencySymbol;
    let Some(before) = before.trim_end_matches(is_currency).strip_suffix(MINUSES) else { return false };
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
            ("(10,2000)", "2000"),
            ("1,2345", "2345"),
            ("1,234,5678", "5678"),
            ("2,1,234", "1234"),
            ("1e-07", "0.0000001"),
            ("is 1.25E+3.", "1250"),
            ("1.5e0", "1.5"),
            ("1,234e2", "123400"),
            (".5e1", "5"),
            ("7even", "7"),
            ("-1,234,567.50", "-1234567.5"),
            ("(1,-234)", "-234"),
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
            ("答案是１８。", "18"),
            ("−１,２３４.５0", "-1234.5"),
            ("٤٢", "42"),
            ("𝟏𝟗 or 𝟿", "9"),
            ("₹1,00,000", "100000"),
            ("12,34,567.5", "1234567.5"),
            ("5,1,00,000", "100000"),
            ("1234,20,300", "20300"),
            ("1,20,300,400", "20300400"),
            ("1{,}234", "1234"),
            (r"1\,234", "1234"),
            (r"1,\!234", "1234"),
            (r"5\,3", "3"),
            (r"is -\$5", "-5"),
            ("–5", "-5"),
            ("3–5", "5"),
            ("‑5 or －5", "-5"),
            ("-₹5", "-5"),
            ("2.5e3kg", "2500"),
            ("1e1234", "1e1234"),
            ("- 5", "5"),
            ("- $5", "5"),
        ] {
            assert_eq!(last(text).as_deref(), Some(number), "{text}");
        }
        assert_eq!(last("none"), None);
    }
}
