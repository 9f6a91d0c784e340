//! Answers as Python's `json.dumps` writes them, with numbers that JSON does not have.

use crate::error::Result;

/// How Python writes numbers that are not finite. Log-probabilities may be `-Infinity`.
const NOT_FINITE: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// Reads JSON; if that fails and there are numbers that are not finite, with null in their place.
///
/// # Errors
/// Those of `read`.
pub(crate) fn without_infinities<T>(json: &str, mut read: impl FnMut(&str) -> Result<T>) -> Result<T> {
    read(json).or_else(|error| with_nulls(json).map_or(Err(error), |json| read(&json)))
}

/// The JSON with null in place of such numbers; none if it has none.
fn with_nulls(json: &str) -> Option<String> {
    let (mut written, mut rest) = (String::with_capacity(json.len()), json);
    let (mut is_string, mut is_escaped) = (false, false);
    while let Some(c) = rest.chars().next() {
        let found = NOT_FINITE.iter().find(|number| !is_string && rest.starts_with(**number));
        match found {
            Some(_) => written.push_str("null"),
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
    use super::with_nulls;

    #[test]
    fn numbers_that_are_not_finite_become_null() {
        for (json, written) in [
            (r#"{"a":[-Infinity,NaN, Infinity]}"#, Some(r#"{"a":[null,null, null]}"#)),
            (r#"{"NaN":"\"NaN\\","b":NaN}"#, Some(r#"{"NaN":"\"NaN\\","b":null}"#)),
            (r#"{"a":"-Infinity"}"#, None),
            (r#"{"a":1"#, None),
        ] {
            assert_eq!(with_nulls(json).as_deref(), written, "{json}");
        }
    }
}
