//! White space and capitals as Python's strings know them.

/// `str.isspace` of a character: Unicode's white space, and the four separators of ASCII.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// `str.capitalize`: the first character large and all others small. The few that have a third form between these, as `ǆ`
/// has, become large.
pub(crate) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return String::new() };
    let mut large = first.to_uppercase();
    // Of "ß" one letter is large.
    let mut capitalized: String = large.next().into_iter().collect();
    capitalized.extend(large.flat_map(char::to_lowercase));
    // With the first one, for a Σ that ends a word is small in another way.
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
