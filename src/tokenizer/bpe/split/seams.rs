//! Cutting text that no pattern cuts, where no entry of the vocabulary could reach across.
//!
//! A merge makes an entry of two that stand side by side. Where no entry has these two characters side by side, nothing
//! is merged across, and the text on either side is encoded by itself.

use crate::tokenizer::bpe::pairs::Pairs;
use crate::tokenizer::bpe::symbols::META_SPACE;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// The characters that stand side by side in entries. A meta space is a space.
pub(crate) struct Seams {
    pairs: Pairs,
    /// Whether the pre-tokenizer cuts before each space.
    splits: bool,
}

impl Seams {
    /// None if entries are merged of the tokens for bytes, which stand for characters that have none.
    pub(crate) fn new(vocabulary: &Vocabulary, splits: bool) -> Option<Self> {
        const A_BYTE: usize = "<0x00>".len();
        if vocabulary.iter().any(|(_, entry)| entry.starts_with("<0x") && entry.len() > A_BYTE) {
            return None;
        }
        let mut pairs = Pairs::new(vocabulary.iter().map(|(_, entry)| entry.replace(META_SPACE, " ")));
        if splits {
            pairs.remove_ascii_before(' ');
        } else {
            // A run of spaces, however they are written, is one piece.
            pairs.put(' ', ' ');
        }
        Some(Self { pairs, splits })
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        self.pairs.write(blocks);
        blocks.u32s(&[self.splits.into()]);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        Some(Self { pairs: Pairs::read(blocks)?, splits: blocks.u32s()? == [1] })
    }

    /// Whether the text is cut at this byte, at which a character begins, and not the first one.
    fn is_seam(&self, text: &str, at: usize) -> bool {
        let as_space = |c| if c == META_SPACE { ' ' } else { c };
        let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
        let is_seam = |before, after| self.splits && after == ' ' || !self.pairs.may_have(before, after);
        before.zip(after).is_some_and(|(before, after)| is_seam(as_space(before), as_space(after)))
    }

    /// The ends of the pieces of a text from this byte on.
    pub(crate) fn ends(&self, text: &str, start: usize) -> impl Iterator<Item = usize> {
        let mut at = start;
        std::iter::from_fn(move || {
            let is_there = at < text.len();
            is_there.then(|| {
                at = self.end(text, at);
                at
            })
        })
    }

    /// Where the piece ends that begins at this byte, which is not the text's end.
    #[inline]
    fn end(&self, text: &str, start: usize) -> usize {
        let bytes = text.as_bytes();
        let (mut at, mut before) = (start + 1, bytes[start]);
        while let Some(byte) = bytes.get(at) {
            let is_seam = match (before | byte).is_ascii() {
                true => !self.pairs.may_have(char::from(before), char::from(*byte)),
                false => text.is_char_boundary(at) && self.is_seam(text, at),
            };
            if is_seam {
                return at;
            }
            (at, before) = (at + 1, *byte);
        }
        at
    }

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    pub(crate) fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic() && !self.pairs.may_have('\n', char::from(next))
    }
}
