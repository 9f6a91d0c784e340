//! Capitals in Python's strings.

/// `str.capitalize`: the first character in upper case and all others in lower case. The few characters with a title
/// case, such as `ǆ`, become upper case.
pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let mut large = first.to_uppercase();
    // Of the upper case of "ß", one letter is upper case.
    let mut capitalized: String = large.next().into_iter().collect();
    capitalized.extend(large.flat_map(char::to_lowercase));
    // Together with the first one, because a Σ at the end of a word has another lower case.
    let small = text.to_lowercase();
    let rest = first.to_lowercase().map(char::len_utf8).sum();
    capitalized + small.get(rest..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CPython 3.11 makes of them.
    #[test]
    fn as_python() {
        for (text, expected) in [
            ("", ""),
            ("the man Runs", "The man runs"),
            ("ALL LARGE", "All large"),
            ("ßa", "Ssa"),
            ("éCOLE", "École"),
            ("ΟΔΟΣ", "Οδος"),
            ("σΣ", "Σς"),
            ("1ST", "1st"),
            ("\u{130}x", "\u{130}x"),
            ("ﬁN", "Fin"),
            ("你好 A", "你好 a"),
            ("[Header] X", "[header] x"),
        ] {
            assert_eq!(capitalized(text), expected);
        }
    }
}
