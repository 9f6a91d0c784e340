//! What a way to cut text into pieces must tell.

/// A way to cut text.
pub(crate) trait Split {
    /// Whether letters of ASCII, with a space before them or none, are a piece if no letter follows and the text is cut
    /// before them.
    const WORDS_ARE_PIECES: bool;

    /// Where the piece ends that begins at this byte, which is not the text's end.
    fn end(&self, text: &str, start: usize) -> usize;

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    fn parts_lines(&self, next: u8) -> bool;
}
