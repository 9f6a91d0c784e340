//! A limit on the nesting of JSON: deeper recursion would overflow the stack.

use crate::error::{ErrorKind, Result};

/// How many nested brackets `serde_json` allows.
pub(super) const DEEPEST: usize = 127;

/// Rejects JSON that is nested too deeply, even in parts that are never read.
///
/// # Errors
/// [`ErrorKind::Parse`] with the column.
pub(crate) fn check_nesting(json: &str) -> Result<()> {
    // Counting is fast, and few texts have this many brackets.
    if memchr::memchr2_iter(b'[', b'{', json.as_bytes()).nth(DEEPEST).is_none() {
        return Ok(());
    }
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            let column = at + 1;
            return Err(ErrorKind::Parse(format!("nested more than {DEEPEST} deep at column {column}")).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_within_brackets() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (json, is_fine) in [
            (nested(127), true),
            (nested(128), false),
            (nested(4_000), false),
            ("{\"a\":".repeat(128), false),
            ("[".repeat(1_000_000), false),
            (format!("[{}[]]", "[],".repeat(1_000)), true),
            (format!("[\"{}\\\"{}\"]", "[".repeat(200), "{".repeat(200)), true),
            ("]".repeat(200) + &"[".repeat(127), true),
        ] {
            assert_eq!(check_nesting(&json).is_ok(), is_fine, "{}", &json[..json.len().min(40)]);
        }
    }
}
