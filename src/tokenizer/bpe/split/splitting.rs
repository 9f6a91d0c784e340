//! What a way to cut text into pieces must tell.

use crate::tokenizer::bpe::classes::Openers;

/// A way to cut text.
pub(crate) trait Split {
    /// The bytes that are of one piece with letters of ASCII after them, such as a space. These letters are a piece, with
    /// such a byte or without, if no letter follows and the text is cut before them. None if it is not so.
    const OPENERS: Option<Openers>;

    /// Where the piece ends that begins at this byte, which is not the text's end.
    fn end(&self, text: &str, start: usize) -> usize;

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    fn parts_lines(&self, next: u8) -> bool;
}
