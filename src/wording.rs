//! Error messages of the JSON and TOML parsers in plain words: the originals name this program's types.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Error, Value};

use crate::error::{ErrorKind, Result};

/// The error of a text that is one line of a file: it names the column, and the caller names the line.
pub(crate) fn in_line(error: &Error) -> ErrorKind {
    let column = if error.line() == 0 { String::new() } else { format!(" at column {}", error.column()) };
    of_category(error, &column)
}

/// The same where the text is known, which may have several lines, and what Python writes for numbers that JSON lacks.
pub(crate) fn in_line_of(text: &str, error: &Error) -> crate::Error {
    let place = match error.line() {
        0 => return in_line(error).into(),
        line if text.trim_end().contains('\n') => format!("line {line} of the value, column {}", error.column()),
        _ => format!("column {}", error.column()),
    };
    let here = text.get(bytes_before(text, error).saturating_sub(1)..);
    let of_python = here.and_then(|here| number_of_python(here, &place));
    of_python.unwrap_or_else(|| of_category(error, &format!(" at {place}")).into())
}

/// The bytes of a text up to where an error was found.
pub(crate) fn bytes_before(text: &str, error: &Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// The error of a text that begins with what Python writes for a number that JSON lacks; none if it begins otherwise.
pub(crate) fn number_of_python(text: &str, place: &str) -> Option<crate::Error> {
    let number = ["NaN", "Infinity"].into_iter().find(|number| text.starts_with(number))?;
    let what = format!("{number} at {place} is not JSON");
    Some(ErrorKind::Parse(what).with_way_out("write null for a missing value"))
}

/// Reads an object that is one line of a file. A list is refused, whose items could be taken for the values of keys.
pub(crate) fn object_from_line<'t, T: Deserialize<'t>>(line: &'t str) -> Result<T> {
    if line.trim_start().starts_with('[') {
        return Err(ErrorKind::Invalid("expected an object, found a list".into()).into());
    }
    serde_json::from_str(line).map_err(|error| in_line_of(line, &error))
}

/// The error of a whole file, with the line and column in it.
pub(crate) fn in_file(error: &Error) -> ErrorKind {
    of_category(error, &position(error))
}

/// The error of a value that was already read, so it has no place in a text.
pub(crate) fn in_value(error: &Error) -> ErrorKind {
    of_category(error, "")
}

/// Text that is not JSON, or JSON with unexpected contents.
fn of_category(error: &Error, position: &str) -> ErrorKind {
    let message = json(error) + position;
    match error.classify() {
        Category::Data => ErrorKind::Invalid(message),
        Category::Io | Category::Syntax | Category::Eof => ErrorKind::Parse(message),
    }
}

/// The place that the parser puts after its message.
fn position(error: &Error) -> String {
    match error.line() {
        0 => String::new(),
        line => format!(" at line {line} column {}", error.column()),
    }
}

fn json(error: &Error) -> String {
    let message = error.to_string();
    plain(message.strip_suffix(&position(error)).unwrap_or(&message))
}

/// Reads options that a program gives as JSON.
///
/// ```
/// use metatok::{BuilderOptions, read_options};
///
/// let error = read_options::<BuilderOptions>(&serde_json::json!({"stop_strings": "x"})).expect_err("it is no list");
/// assert_eq!(error.to_string(), "stop_strings: expected a list, found the string \"x\"");
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] names the key and says what its value must be.
pub fn read_options<T: DeserializeOwned>(options: &Value) -> Result<T> {
    serde_path_to_error::deserialize(options).map_err(|error| {
        let what = plain(&error.inner().to_string());
        ErrorKind::Usage(match key_path(error.path()) {
            None => what,
            Some(path) => format!("{path}: {what}"),
        })
        .into()
    })
}

/// How many characters of a key path are shown: deeper nesting has no purpose.
const LONGEST_PATH: usize = 200;

/// Where in a file it is, in few words however deep; none if that is the whole file.
pub(crate) fn key_path(path: &serde_path_to_error::Path) -> Option<String> {
    let path = path.to_string();
    // The key at which a file breaks off is not known.
    let known = path.trim_end_matches(['?', '.']);
    (!known.is_empty()).then(|| shortened(known.to_owned(), LONGEST_PATH))
}

/// An error with where in a file it is.
pub(crate) fn at_path(error: crate::Error, path: &serde_path_to_error::Path) -> crate::Error {
    match key_path(path) {
        Some(path) => error.at(path),
        None => error,
    }
}

/// A text with at most this many characters, and a sign that there are more.
pub(crate) fn shortened(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A value as errors show it, which may be long.
pub(crate) fn shown(value: &Value) -> String {
    shortened(value.to_string(), 60)
}

/// How many more there are than those that a message names; nothing if there are none.
pub(crate) fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

/// Whether a key is a misspelling of another. Similar keys may have their own meaning, as `infer_method` next to
/// `infer_cfg`.
pub(crate) fn is_misspelt(key: &str, known: &str) -> bool {
    key != known && strsim::damerau_levenshtein(key, known) <= 2
}

/// Whether a word is another with one letter too many, too few, wrong or in the wrong place: where most words are meant as they
/// are.
pub(crate) fn is_one_typo(word: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(word, known) == 1
}

/// The known key of which an unknown one is a misspelling, from serde's list of what it expected.
fn meant(unknown: &str) -> Option<(&str, &str)> {
    let (key, expected) = unknown.strip_prefix('`')?.split_once("`, expected ")?;
    let known = expected.split('`').skip(1).step_by(2);
    known.filter(|known| key.len() > 2 && is_misspelt(key, known)).map(|known| (key, known)).next()
}

/// A message without the names of types, or unchanged if it has none.
pub(crate) fn plain(message: &str) -> String {
    let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    if let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        let wanted = largest(found, expected).unwrap_or_else(|| wanted(expected).to_owned());
        return format!("expected {wanted}, found {}", given(found));
    }
    if let Some((length, expected)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        // A type with keys may be written as a list of their values, but nobody means that.
        if expected.starts_with("struct ") {
            return "expected an object, found a list".into();
        }
        let size = ["a tuple of size ", "an array of length "].iter().find_map(|start| expected.strip_prefix(start));
        return match size {
            Some(size) => format!("expected a list of {size}, found a list of {length}"),
            None => format!("expected {}, found {length} of them", wanted(expected)),
        };
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {key} is missing");
    }
    if let Some(what) = message.strip_prefix("EOF while parsing ") {
        return match what {
            "a value" => "it ends where a value is expected".into(),
            what => format!("it ends in the middle of {what}"),
        };
    }
    let known = [
        ("unknown field ", "unknown key "),
        ("unknown variant ", "unknown value "),
        ("duplicate field ", "duplicate key "),
    ];
    if let Some((key, near)) = message.strip_prefix("unknown field ").and_then(meant) {
        return format!("unknown key `{key}` (did you mean `{near}`?)");
    }
    if let Some((rest, start)) =
        known.iter().find_map(|(theirs, ours)| message.strip_prefix(theirs).map(|rest| (rest, ours)))
    {
        return format!("{start}{rest}");
    }
    match message {
        "expected ident" => "expected true, false or null".into(),
        "key must be a string" => "a key must be a string in double quotes".into(),
        "trailing characters" => "there is more text after the end".into(),
        "unexpected end of hex escape" | "lone leading surrogate in hex escape" => {
            r"a string has half a character (such as \ud83d without \ude00 after it)".into()
        }
        // A name in TOML is something else.
        "wanted string or table" => "expected a string".into(),
        "recursion limit exceeded" => "it is nested too deeply".into(),
        message if message.starts_with("control character (") => {
            "a string contains an unescaped line break or other control character".into()
        }
        message => message.to_owned(),
    }
}

/// What is expected, from serde's name for it.
fn wanted(expected: &str) -> &str {
    let first = expected.split(' ').next().unwrap_or_default();
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" | "map" => "an object",
        "a sequence" | "sequence" => "a list",
        "string" | "a borrowed string" => "a string",
        "string or map" => "a string or an object",
        "a boolean" => "true or false",
        "unit" | "null" => "null",
        _ if expected.starts_with("a nonzero ") => "a whole number above 0",
        _ if matches!(first, "struct" | "tuple" | "newtype" | "enum" | "variant") => match first {
            "tuple" => "a list",
            "enum" => "a name",
            _ => "an object",
        },
        _ => expected,
    }
}

/// What is expected in place of a whole number that is too large for serde's name of a type; none for anything else.
fn largest(found: &str, expected: &str) -> Option<String> {
    let most = match expected {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        _ => return None,
    };
    let number: u64 = found.strip_prefix("integer `")?.strip_suffix('`')?.parse().ok()?;
    (number > most).then(|| format!("a whole number up to {most}"))
}

/// Longer strings are shortened.
const SHOWN: usize = 60;

/// What was found, from serde's name for it.
fn given(found: &str) -> String {
    // Numbers of more than 64 bits have their type behind them.
    let found = found.strip_suffix(" as i128").or_else(|| found.strip_suffix(" as u128")).unwrap_or(found);
    let quoted = |kind: &str| found.strip_prefix(kind)?.strip_prefix(" `")?.strip_suffix('`');
    if let Some(number) = quoted("integer").or_else(|| quoted("floating point")) {
        return format!("the number {number}");
    }
    if let Some(truth) = quoted("boolean") {
        return truth.to_owned();
    }
    match found {
        "map" => "an object".into(),
        "sequence" => "a list".into(),
        "unit value" => "null".into(),
        found if found.starts_with("string \"") && found.chars().count() > SHOWN => {
            format!("the {}…\"", found.chars().take(SHOWN).collect::<String>())
        }
        found if found.starts_with("string ") => format!("the {found}"),
        found => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "it is only read")]
    struct Thing {
        id: u32,
        #[serde(default)]
        count: Option<std::num::NonZeroUsize>,
        #[serde(default)]
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
        Other,
    }

    fn said<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
        in_line(&serde_json::from_str::<T>(json).expect_err("it is wrong")).to_string()
    }

    #[test]
    fn no_types_of_this_program() {
        #[rustfmt::skip]
        let table = [
            ("3", "expected an object, found the number 3 at column 1"),
            ("[]", "expected an object, found a list at column 2"),
            ("{}", "the key `id` is missing at column 2"),
            (r#"{"id": "x"}"#, "expected a whole number, 0 or more, found the string \"x\" at column 10"),
            (r#"{"id": -1}"#, "expected a whole number, 0 or more, found the number -1 at column 9"),
            (r#"{"id": 4294967296}"#, "expected a whole number up to 4294967295, found the number 4294967296 at column 17"),
            (r#"{"id": 1.5}"#, "expected a whole number, 0 or more, found the number 1.5 at column 10"),
            (r#"{"id": null}"#, "expected a whole number, 0 or more, found null at column 11"),
            (r#"{"id": [1]}"#, "expected a whole number, 0 or more, found a list at column 7"),
            (r#"{"id": true}"#, "expected a whole number, 0 or more, found true at column 11"),
            (r#"{"id": 1, "count": 0}"#, "expected a whole number above 0, found the number 0 at column 20"),
            (r#"{"id": 1, "kind": "x"}"#, "unknown value `x`, expected `one` or `other` at column 21"),
            (r#"{"id": 1, "x": 1}"#, "unknown key `x`, expected one of `id`, `count`, `kind` at column 13"),
            (r#"{"id": 1, "id": 1}"#, "duplicate key `id` at column 14"),
            (r#"{"id": 1"#, "it ends in the middle of an object at column 8"),
            ("", "it ends where a value is expected at column 0"),
            ("{id: 1}", "a key must be a string in double quotes at column 2"),
            (r#"{"id": 1} 2"#, "there is more text after the end at column 11"),
        ];
        for (json, expected) in table {
            assert_eq!(said::<Thing>(json), expected, "{json}");
        }
        assert_eq!(said::<Vec<u32>>("{}"), "expected a list, found an object at column 0");
        assert_eq!(said::<[String; 2]>(r#"["a"]"#), "expected a list of 2, found a list of 1 at column 5");
        assert_eq!(
            said::<bool>(r#""a, expected b""#),
            "expected true or false, found the string \"a, expected b\" at column 15"
        );
        assert_eq!(said::<String>(&format!("[{}]", 1)), "expected a string, found a list at column 0");
        assert!(said::<bool>(&format!("{:?}", "x".repeat(999))).len() < 150);
        let error = serde_json::from_str::<Thing>("{\n\"id\": }").expect_err("it is wrong");
        assert_eq!(in_file(&error).to_string(), "expected value at line 2 column 7");
        let error = serde_json::from_value::<Thing>(serde_json::json!(3)).expect_err("it is wrong");
        assert_eq!(in_line(&error).to_string(), "expected an object, found the number 3");
    }
}
