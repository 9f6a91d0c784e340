//! The short entries of a vocabulary that their own text merges to: a piece that is one of them need not be merged.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::pieces::Key;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// A table of them.
pub(crate) struct Words {
    /// The parts of a key, and an id. A power of two.
    slots: Vec<[u32; 5]>,
}

impl Words {
    pub(crate) fn new(words: &[(Key, TokenId)]) -> Self {
        let size = (words.len() + words.len() / 2).next_power_of_two().max(16);
        let mut this = Self { slots: vec![[0; 5]; size] };
        for (key, id) in words {
            let slot = this.slot(*key, key.hash());
            let [a, b, c, d] = key.parts();
            this.slots[slot] = [a, b, c, d, *id];
        }
        this
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u32s(self.slots.as_flattened());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let slots: Vec<[u32; 5]> = blocks.u32s()?.as_chunks().0.to_vec();
        let is_whole = slots.len().is_power_of_two() && slots.iter().any(|slot: &[u32; 5]| slot[3] == 0);
        is_whole.then_some(Self { slots })
    }

    /// The slot of a key, or an empty one, whose parts are zero.
    #[inline]
    fn slot(&self, key: Key, hash: u64) -> usize {
        let (slots, parts) = (&self.slots, key.parts());
        let mask = slots.len() - 1;
        let mut slot = hash as usize & mask;
        while slots[slot][..4] != parts && slots[slot][..4] != [0; 4] {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The entry with this key.
    #[inline]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<TokenId> {
        let [.., last, id] = self.slots[self.slot(key, hash)];
        // The length is there, which is not zero.
        (last != 0).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_word_is_found_and_nothing_else() {
        let key = |text: &str| Key::new(text.as_bytes(), 0, text.len()).expect("it is short");
        let keys: Vec<(Key, TokenId)> = (0..500).map(|id| (key(&format!("entry {id}")), id)).collect();
        let words = Words::new(&keys);
        assert!(keys.iter().all(|(key, id)| words.get(*key, key.hash()) == Some(*id)));
        assert_eq!(words.get(key("entry"), key("entry").hash()), None);
    }
}
