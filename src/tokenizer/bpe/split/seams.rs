//! Cutting text that no pre-tokenizer cuts, where no entry of the vocabulary could reach across.
//!
//! A merge makes an entry of two that stand side by side. Where no entry has these two characters side by side, nothing
//! is merged across, and the text on either side is encoded by itself.

use crate::tokenizer::bpe::split::splitting::Split;
use crate::tokenizer::bpe::symbols::META_SPACE;
use crate::tokenizer::bpe::vocabulary::Vocabulary;

/// The characters after which a space or a line end may stand in an entry, and those before which a line end may.
pub(crate) struct Seams {
    before_space: Marked,
    before_newline: Marked,
    after_newline: Marked,
}

/// A set of characters.
struct Marked {
    ascii: [bool; 128],
    /// In order.
    others: Vec<char>,
}

impl Marked {
    fn new(mut chars: Vec<char>) -> Self {
        let mut ascii = [false; 128];
        chars.retain(|c| {
            if let Some(own) = ascii.get_mut(*c as usize) {
                *own = true;
            }
            !c.is_ascii()
        });
        chars.sort_unstable();
        chars.dedup();
        Self { ascii, others: chars }
    }

    fn has(&self, c: char) -> bool {
        match self.ascii.get(c as usize) {
            Some(own) => *own,
            None => self.others.binary_search(&c).is_ok(),
        }
    }
}

impl Seams {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let [mut before_space, mut before_newline, mut after_newline] = [const { Vec::new() }; 3];
        for (_, entry) in vocabulary.iter() {
            let mut before = None;
            for c in entry.chars() {
                if let Some(before) = before {
                    if c == META_SPACE {
                        before_space.push(before);
                    }
                    if c == '\n' {
                        before_newline.push(before);
                    }
                    if before == '\n' {
                        after_newline.push(c);
                    }
                }
                before = Some(c);
            }
        }
        if before_newline.contains(&META_SPACE) {
            before_newline.push(' ');
        }
        if after_newline.contains(&META_SPACE) {
            after_newline.push(' ');
        }
        // A run of spaces, however they are written, is one piece.
        before_space.extend([' ', META_SPACE]);
        let [before_space, before_newline, after_newline] =
            [before_space, before_newline, after_newline].map(Marked::new);
        Self { before_space, before_newline, after_newline }
    }

    /// Whether the text is cut at this byte, at which a character begins, and not the first one.
    fn is_seam(&self, text: &str, at: usize) -> bool {
        let (Some(before), Some(after)) = (text[..at].chars().next_back(), text[at..].chars().next()) else {
            return false;
        };
        match (before, after) {
            (before, ' ' | META_SPACE) => !self.before_space.has(before),
            (before, '\n') => !self.before_newline.has(before),
            ('\n', after) => !self.after_newline.has(after),
            _ => false,
        }
    }
}

impl Split for Seams {
    const WORDS_ARE_PIECES: bool = false;

    #[inline]
    fn end(&self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        let mut at = start + 1;
        // Most words begin with a space, and are letters.
        while let Some(byte) = bytes.get(at) {
            let is_candidate = matches!(byte, b' ' | b'\n' | 0xE2) || bytes[at - 1] == b'\n';
            if is_candidate && self.is_seam(text, at) {
                return at;
            }
            at += 1;
        }
        at
    }

    fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic() && !self.after_newline.has(char::from(next))
    }
}
