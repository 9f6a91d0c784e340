//! The last number of a text, in a normalized form.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::score::next_question::before_next_question;

/// Numbers between commas and points, or more points than a number has.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\d+(?:,\d+)*\.[eE][+-]?\d+|(?:\d+(?:,\d+)*(?:\.\d+)*|\.\d+)(?:[eE][+-]?\d+)?|\.\.+")
        .expect("it is a regular expression")
});

/// What stands for a comma in a number: LaTeX's spellings, and spaces that break no line.
static COMMAS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{,\}|\\[, ]|,\\!|[\u{a0}\u{2009}\u{202f}]").expect("it is a regular expression"));

/// The signs that people write for a minus: the hyphen, also the one without a break, the en dash, and the minus itself.
const MINUSES: [char; 5] = ['-', '‑', '–', '−', '－'];

/// The largest exponent that is written out, in either direction.
const LARGEST_EXPONENT: u64 = 999;

/// The last number of an answer, or if that has none, of the questions and answers that follow it.
pub(super) fn last_of_answer(text: &str) -> Option<String> {
    before_next_question(text).and_then(last).or_else(|| last(text))
}

/// The last number, without commas, a plus, and redundant zeros. A larger exponent stays, after digits without a point.
fn last(text: &str) -> Option<String> {
    let text = with_ascii_digits(text);
    let text = &*with_plain_commas(&text);
    let found = NUMBERS.find_iter(text).filter(|found| !found.as_str().ends_with('.')).last()?;
    let start = found.start() + start_of_last(found.as_str());
    let number = plain(&text[start..found.end()].replace(',', ""))?;
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

/// A text in which commas set the groups of numbers apart: `1,234` in place of `1{,}234`, `1\,234` and `1,\!234`.
fn with_plain_commas(text: &str) -> Cow<'_, str> {
    COMMAS.replace_all(text, ",")
}

fn is_decimal(c: char) -> bool {
    c.general_category() == GeneralCategory::DecimalNumber
}

/// The digits of a script follow one another from zero to nine, and those of the next style may follow them.
fn ascii_digit(c: char) -> char {
    let before = ('\0'..c).rev().take_while(|c| is_decimal(*c)).count();
    char::from(b"0123456789"[before % 10])
}

/// A number without redundant zeros, and without the exponent that it may have, unless that is too large to write out.
fn plain(number: &str) -> Option<String> {
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    let exponent = exponent.checked_add(i64::try_from(digits.len() - significant.len()).ok()?)?;
    let size = usize::try_from(exponent.unsigned_abs()).ok()?;
    Some(match exponent {
        _ if significant.is_empty() => "0".to_owned(),
        _ if exponent.unsigned_abs() > LARGEST_EXPONENT => format!("{significant}e{exponent}"),
        0.. => format!("{significant}{}", "0".repeat(size)),
        _ => {
            let padded = format!("{significant:0>width$}", width = size + 1);
            let (whole, fraction) = padded.split_at(padded.len() - size);
            format!("{whole}.{fraction}")
        }
    })
}

/// Where the last of numbers between commas and points begins: commas are within it where three digits stand between
/// them, or two before the last three, as in India. Fewer digits may only begin it. One point is within it.
fn start_of_last(numbers: &str) -> usize {
    if let Some((_, last)) = numbers.rsplit_once('.').filter(|(before, _)| before.contains('.')) {
        return numbers.len() - last.len();
    }
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
    let is_digit = |c: char| c.is_ascii_digit();
    // `10€-20€`, and not `€-5`.
    let ends_amount =
        |sign: &dyn Fn(char) -> bool| before.ends_with(sign) && before.trim_end_matches(sign).ends_with(is_digit);
    let is_operand = |c: char| c.is_alphanumeric() || c == ')';
    if ends_amount(&is_currency) || ends_amount(&|c| matches!(c, '%' | '°' | '}')) {
        return false;
    }
    !before.ends_with(is_operand) || ANNOUNCING.iter().any(|word| before.ends_with(word))
}

/// Ends of words that announce a number, in languages that write none or no space before it: `答案是-5`. After other words,
/// the sign stands between two numbers, as in `3小时-5小时`.
const ANNOUNCING: [&str; 30] = [
    "是",
    "为",
    "為",
    "得",
    "有",
    "于",
    "於",
    "即",
    "约",
    "約",
    "成",
    "至",
    "到",
    "达",
    "達",
    "剩",
    "は",
    "が",
    "に",
    "を",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "คือ",
    "เป็น",
    "เท่ากับ",
    "ได้",
];

#[cfg(test)]
mod tests {
    use super::{last, last_of_answer};

    #[test]
    fn what_follows_a_next_question_does_not_count() {
        for (text, number) in [
            ("The answer is 18.\n\nQuestion: Tom has 5 apples.\nAnswer: 12", Some("18")),
            ("18\n\nQ: 5 + 7?\nA: 12", Some("18")),
            ("Let me repeat it.\nQuestion: 9 * 2?\nAnswer: 18", Some("18")),
            ("The question: 9 * 2. It is 18", Some("18")),
            ("In 3 steps.\n\n### Question analysis\n16 - 7 = 9\n\n### Answer\n18", Some("18")),
            ("18\n\n## Question 2\nWhat is 5 + 7?", Some("18")),
            // An answer may list the options before it.
            ("2 + 3 is one of these:\nA. 4\nB. 5\nThe answer is 5", Some("5")),
        ] {
            assert_eq!(last_of_answer(text).as_deref(), number, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_in_one_way() {
        for (text, number) in [
            ("18", "18"),
            ("答案是-5。", "-5"),
            ("因此，共有-19,451.88个", "-19451.88"),
            ("答えは−5です", "-5"),
            ("답은-5입니다", "-5"),
            ("คำตอบคือ-5", "-5"),
            ("3月-5月", "5"),
            ("3小时-5小时", "5"),
            ("10달러-5달러", "5"),
            ("二〇二四年-5", "5"),
            ("第2章-3", "3"),
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
            ("1.e5", "100000"),
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
            (r"70\ 000", "70000"),
            ("70\u{202f}000 or 70\u{a0}001", "70001"),
            ("5\u{a0}apples, 3\u{2009}kg", "3"),
            ("2020\u{a0}100", "100"),
            ("100 200 300", "300"),
            ("10%-20%", "20"),
            ("10°-20°", "20"),
            ("10€-20€", "20"),
            ("$10$-$20$", "20"),
            ("x^{2}-3", "3"),
            ("costs $-5$", "-5"),
            ("costs €-5", "-5"),
            ("故最小值$-5$", "-5"),
            (r"$\Rightarrow$-5", "-5"),
            (r"$\text{答案：}-5$", "-5"),
            ("[Answer]-5", "-5"),
            (r"is -\$5", "-5"),
            ("–5", "-5"),
            ("3–5", "5"),
            ("‑5 or －5", "-5"),
            ("-₹5", "-5"),
            ("2.5e3kg", "2500"),
            ("1e1234", "1e1234"),
            ("-1e1234", "-1e1234"),
            ("1E+1234", "1e1234"),
            ("0.10e1235", "1e1234"),
            ("1E-1234", "1e-1234"),
            ("0e1234", "0"),
            ("1.2.3", "3"),
            ("on 12.05.2024.", "2024"),
            ("it is...18", "18"),
            ("18...", "18"),
            ("100e-2", "1"),
            ("120e-4", "0.012"),
            ("- 5", "5"),
            ("- $5", "5"),
        ] {
            assert_eq!(last(text).as_deref(), Some(number), "{text}");
        }
        assert_eq!(last("none ..."), None);
        assert_eq!(last("1e99999999999999999999"), None);
    }
}
