//! Which characters stand side by side in entries of a vocabulary: between others nothing is ever merged.

use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// The number of bits in the hash of a pair. They are few, so a pair that is in no entry may have the hash of one that
/// is.
const BITS: u32 = 20;
const WORDS: usize = 1 << (BITS - 6);

/// Pairs of characters. Some that are in no entry are taken for one that is, but none of ASCII.
pub(crate) struct Pairs {
    /// By the left character, a bit for each right one.
    ascii: Box<[[u64; 2]; 128]>,
    /// A bit for each hash of others.
    others: Vec<u64>,
}

impl Pairs {
    /// The pairs in these texts.
    pub(crate) fn new<T: AsRef<[u8]>>(texts: impl Iterator<Item = T>) -> Self {
        let mut this = Self { ascii: Box::new([[0; 2]; 128]), others: vec![0; WORDS] };
        for text in texts {
            for whole in text.as_ref().utf8_chunks() {
                let chars = whole.valid().chars();
                chars.clone().zip(chars.skip(1)).for_each(|(left, right)| this.put(left, right));
            }
        }
        this
    }

    pub(crate) fn put(&mut self, left: char, right: char) {
        match self.ascii.get_mut(left as usize).zip(ascii_place(right)) {
            Some((own, (word, bit))) => own[word] |= bit,
            None => {
                let (word, bit) = place(left, right);
                self.others[word] |= bit;
            }
        }
    }

    /// Forgets the pairs of a character of ASCII before this one.
    pub(crate) fn remove_ascii_before(&mut self, right: char) {
        if let Some((word, bit)) = ascii_place(right) {
            self.ascii.iter_mut().for_each(|own| own[word] &= !bit);
        }
    }

    /// Whether an entry may have these characters side by side.
    #[inline]
    pub(crate) fn may_have(&self, left: char, right: char) -> bool {
        match self.ascii.get(left as usize).zip(ascii_place(right)) {
            Some((own, (word, bit))) => own[word] & bit != 0,
            None => {
                let (word, bit) = place(left, right);
                self.others[word] & bit != 0
            }
        }
    }

    /// Whether an entry has these characters of ASCII side by side.
    #[inline]
    pub(crate) fn has_ascii(&self, left: u8, right: u8) -> bool {
        self.ascii[usize::from(left & 0x7F)][usize::from(right >> 6 & 1)] >> (right & 63) & 1 != 0
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u64s(self.ascii.as_flattened());
        blocks.u64s(&self.others);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let ascii = Box::new(blocks.u64s()?.as_chunks().0.try_into().ok()?);
        let others = blocks.u64s().filter(|words| words.len() == WORDS)?;
        Some(Self { ascii, others })
    }
}

/// The word and the bit of a character of ASCII.
#[inline]
fn ascii_place(c: char) -> Option<(usize, u64)> {
    c.is_ascii().then_some((c as usize >> 6, 1 << (c as usize & 63)))
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
        let texts: [&[u8]; 3] = ["baé文字".as_bytes(), b"\xE4\xB8\xAD\xE6\x96\x87\xE5", b"\x87\xE5\xAD\x97\xC3\xA9"];
        let pairs = Pairs::new(texts.into_iter());
        let all = ['a', 'b', 'é', '中', '文', '字'];
        let found: Vec<String> = all
            .iter()
            .flat_map(|left| all.iter().map(move |right| (*left, *right)))
            .filter(|(left, right)| pairs.may_have(*left, *right))
            .map(|(left, right)| format!("{left}{right}"))
            .collect();
        assert_eq!(found, ["aé", "ba", "é文", "中文", "文字", "字é"]);
    }
}
