//! What a way to cut text into pieces must tell.

use crate::tokenizer::bpe::classes::{Openers, word_of_ascii};

/// A way to cut text.
pub(crate) trait Split {
    /// The bytes that are of one piece with letters of ASCII after them, such as a space. These letters are a piece, with
    /// such a byte or without, if no letter follows, the text is cut before them, and [`Self::is_piece`]. None if it is
    /// not so.
    const OPENERS: Option<Openers>;

    /// Whether so many of these bytes are a piece: letters, perhaps opened.
    #[inline]
    fn is_piece(&self, _bytes: u128, _len: usize) -> bool {
        true
    }

    /// The first 16 bytes here, and how many are a piece of letters; none if that is not told fast.
    #[inline]
    fn word(&self, text: &str, start: usize) -> Option<(u128, usize)> {
        let openers = const { &Self::OPENERS }.as_ref()?;
        word_of_ascii(openers, text, start).filter(|(bytes, len)| self.is_piece(*bytes, *len))
    }

    /// Where the piece ends that begins at this byte, which is not the text's end.
    fn end(&self, text: &str, start: usize) -> usize;

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    fn parts_lines(&self, next: u8) -> bool;
}
