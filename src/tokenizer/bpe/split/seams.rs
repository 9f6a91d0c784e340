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

    /// Whether text is cut between these characters.
    #[inline]
    fn is_seam(&self, before: char, after: char) -> bool {
        let as_space = |c| if c == META_SPACE { ' ' } else { c };
        let (before, after) = (as_space(before), as_space(after));
        self.splits && after == ' ' || !self.pairs.may_have(before, after)
    }

    /// The ends of the pieces of a text from this byte on.
    pub(crate) fn ends<'t>(&'t self, text: &'t str, start: usize) -> Ends<'t> {
        Ends { seams: self, text, found: 0, block: start, next: start + 1 }
    }

    /// A bit for each of the bytes from `block` to `end`, 64 at most, where the text is cut, the first one's the lowest. A byte
    /// comes before them.
    fn cuts(&self, text: &str, block: usize, end: usize) -> u64 {
        let bytes = &text.as_bytes()[block - 1..end];
        if bytes.is_ascii() {
            // Without a branch: it would depend on the text.
            let pairs = bytes.iter().zip(&bytes[1..]).enumerate();
            return pairs
                .fold(0, |cuts, (at, (before, byte))| cuts | u64::from(!self.pairs.has_ascii(*before, *byte)) << at);
        }
        let first = (0..block).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let mut chars = text[first..].char_indices();
        let mut before = chars.next().map_or(' ', |(_, first)| first);
        let chars = chars.map(|(at, c)| (first + at, c)).take_while(|(at, _)| *at < end);
        chars.fold(0, |cuts, (at, c)| {
            cuts | u64::from(self.is_seam(std::mem::replace(&mut before, c), c)) << (at - block)
        })
    }

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    pub(crate) fn parts_lines(&self, next: u8) -> bool {
        next.is_ascii_graphic() && !self.pairs.may_have('\n', char::from(next))
    }
}

/// The ends of the pieces of a text. Many are found at once.
pub(crate) struct Ends<'t> {
    seams: &'t Seams,
    text: &'t str,
    /// A bit for each byte from `block` on where a piece ends.
    found: u64,
    block: usize,
    /// The first byte that was not looked at.
    next: usize,
}

impl Iterator for Ends<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let len = self.text.len();
        while self.found == 0 {
            if self.next >= len {
                // The last piece ends with the text.
                let is_left = self.block < len;
                self.block = len;
                return is_left.then_some(len);
            }
            let end = len.min(self.next + u64::BITS as usize);
            self.found = self.seams.cuts(self.text, self.next, end);
            (self.block, self.next) = (self.next, end);
        }
        let end = self.block + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However many are found at once.
        #[test]
        fn pieces_end_at_all_seams(
            entries in prop::collection::vec("[ab ▁\n中é]{2,4}", 0..8),
            stretches in prop::collection::vec(prop_oneof!["[ab \n]{0,150}", "[ab ▁\n中é]{0,50}"], 0..5),
            splits: bool,
        ) {
            let mut vocabulary = Vocabulary::with_capacity(8, 64);
            entries.iter().zip(0..).for_each(|(entry, id)| vocabulary.insert(entry, id));
            let seams = Seams::new(&vocabulary, splits).expect("no tokens for bytes are merged");
            let text = stretches.concat();
            for (start, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let pairs = text[start..].chars().zip(text[start..].char_indices().skip(1));
                let all = pairs.filter(|(before, (_, after))| seams.is_seam(*before, *after)).map(|(_, (at, _))| start + at);
                let all: Vec<usize> = all.chain((start < text.len()).then_some(text.len())).collect();
                prop_assert_eq!(seams.ends(&text, start).collect::<Vec<_>>(), all);
            }
        }
    }
}
