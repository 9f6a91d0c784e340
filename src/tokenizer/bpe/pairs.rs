//! Which characters stand side by side in entries of a vocabulary: between others nothing is ever merged.

use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// So many bits are few for the pairs of a vocabulary: a pair of another hash is told from them by chance.
const BITS: u32 = 20;

/// Pairs of characters, not both of ASCII. Some that are in no entry are taken for one that is.
pub(crate) struct Pairs(Vec<u64>);

impl Pairs {
    /// The pairs in these texts.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut this = Self(vec![0; 1 << (BITS - 6)]);
        for text in texts.filter(|text| !text.is_ascii()) {
            for whole in text.utf8_chunks() {
                let chars = whole.valid().chars();
                for (left, right) in chars.clone().zip(chars.skip(1)) {
                    let (word, bit) = place(left, right);
                    this.0[word] |= bit;
                }
            }
        }
        this
    }

    /// Whether an entry may have these characters side by side.
    #[inline]
    pub(crate) fn may_have(&self, left: char, right: char) -> bool {
        let (word, bit) = place(left, right);
        (left.is_ascii() && right.is_ascii()) || self.0[word] & bit != 0
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u64s(&self.0);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        blocks.u64s().filter(|words| words.len() == 1 << (BITS - 6)).map(Self)
    }
}

#[inline]
fn place(left: char, right: char) -> (usize, u64) {
    let pair = u64::from(u32::from(left)) << 32 | u64::from(u32::from(right));
    let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_those_of_whole_characters() {
        // The last character of the second entry is not whole, nor is the first of the third.
        let texts: [&[u8]; 3] = ["aé文字".as_bytes(), b"\xE4\xB8\xAD\xE6\x96\x87\xE5", b"\x87\xE5\xAD\x97\xC3\xA9"];
        let pairs = Pairs::new(texts.into_iter());
        let all = ['a', 'b', 'é', '中', '文', '字'];
        let found: Vec<String> = all
            .iter()
            .flat_map(|left| all.iter().map(move |right| (*left, *right)))
            .filter(|(left, right)| pairs.may_have(*left, *right))
            .map(|(left, right)| format!("{left}{right}"))
            .collect();
        assert_eq!(found, ["aa", "ab", "aé", "ba", "bb", "é文", "中文", "文字", "字é"]);
    }
}
