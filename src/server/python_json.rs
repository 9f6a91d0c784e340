//! Answers as Python's `json.dumps` writes them, with numbers that JSON does not have.

use std::borrow::Cow;

use crate::error::Result;

/// How Python writes numbers that are not finite. Log-probabilities may be `-Infinity`.
const NOT_FINITE: [&str; 3] = ["NaN", MINUS_INFINITY, "Infinity"];
const MINUS_INFINITY: &str = "-Infinity";
/// What is read in place of `-Infinity`. Millions of them have a finite sum.
pub(crate) const LEAST: f64 = -1e300;

/// Reads JSON; if that fails and there are numbers that are not finite, with null in their place. But `-Infinity` is the
/// logarithm of a probability of zero: in its place is a number that is less than any other logarithm.
///
/// # Errors
/// Those of `read`.
pub(crate) fn without_infinities<T>(json: &str, mut read: impl FnMut(&str) -> Result<T>) -> Result<T> {
    read(json).or_else(|error| with_finite_numbers(json).map_or(Err(error), |json| read(&json)))
}

/// The JSON with others in place of such numbers, if it has any.
pub(crate) fn finite(json: &str) -> Cow<'_, str> {
    let has = |number: &&str| memchr::memmem::find(json.as_bytes(), number.as_bytes()).is_some();
    let other = NOT_FINITE.iter().any(has).then(|| with_finite_numbers(json)).flatten();
    other.map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The JSON with others in place of such numbers; none if it has none.
fn with_finite_numbers(json: &str) -> Option<String> {
    let (mut written, mut rest) = (String::with_capacity(json.len()), json);
    let (mut is_string, mut is_escaped) = (false, false);
    while let Some(c) = rest.chars().next() {
        let found = NOT_FINITE.iter().find(|number| !is_string && rest.starts_with(**number));
        match found {
            // As long as before, if it can be, so that errors name the right column.
            Some(number) => {
                let by = if *number == MINUS_INFINITY { format!("{LEAST:e}") } else { "null".into() };
                written.push_str(&format!("{by:0$}", number.len()));
            }
            None => written.push(c),
        }
        is_string ^= c == '"' && !is_escaped;
        is_escaped = is_string && c == '\\' && !is_escaped;
        rest = &rest[found.map_or(c.len_utf8(), |number| number.len())..];
    }
    (written != json).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::with_finite_numbers;

    #[test]
    fn numbers_that_are_not_finite_are_replaced() {
        for (json, written) in [
            (r#"{"a":[-Infinity,NaN, Infinity]}"#, Some(r#"{"a":[-1e300   ,null, null    ]}"#)),
            (r#"{"NaN":"\"NaN\\","b":NaN}"#, Some(r#"{"NaN":"\"NaN\\","b":null}"#)),
            (r#"{"a":"-Infinity"}"#, None),
            (r#"{"a":1"#, None),
        ] {
            assert_eq!(with_finite_numbers(json).as_deref(), written, "{json}");
        }
    }
}
