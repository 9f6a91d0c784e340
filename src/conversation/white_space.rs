//! White space as Python's strings have it.

/// `str.isspace` for a character: Unicode's white space, and the four ASCII separators.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}
