//! The short entries of a vocabulary that their own text merges to: a piece that is one of them need not be merged.

use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::pieces::Key;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// A table of them, for all threads.
pub(crate) struct Words {
    /// A power of two.
    slots: Vec<Word>,
}

/// Half a line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Word {
    key: Key,
    id: TokenId,
}

const EMPTY: Word = Word { key: Key::EMPTY, id: 0 };

impl Words {
    pub(crate) fn new(words: impl ExactSizeIterator<Item = (Key, TokenId)>) -> Self {
        let size = (words.len() + words.len() / 2).next_power_of_two().max(16);
        let mut this = Self { slots: vec![EMPTY; size] };
        for (key, id) in words {
            let slot = this.slot(key, key.hash());
            this.slots[slot] = Word { key, id };
        }
        this
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        let words = self.slots.iter().filter(|word| word.key != Key::EMPTY);
        let numbers = words.flat_map(|word| word.key.parts().into_iter().chain([word.id]));
        blocks.u32s(&numbers.collect::<Vec<_>>());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let numbers = blocks.u32s()?;
        let words = numbers.as_chunks().0.iter();
        Some(Self::new(words.map(|[a, b, c, d, id]| (Key::of_parts([*a, *b, *c, *d]), *id))))
    }

    /// The slot of a key, or an empty one.
    #[inline]
    fn slot(&self, key: Key, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].key != key && self.slots[slot].key != Key::EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Asks for the slot of a piece: others can be asked for until it is there.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index(&self.slots, hash as usize & (self.slots.len() - 1));
    }

    /// The entry with this key; none for the empty one.
    #[inline]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<TokenId> {
        let word = &self.slots[self.slot(key, hash)];
        (word.key == key && key != Key::EMPTY).then_some(word.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_word_is_found_and_nothing_else() {
        let key = |text: &str| Key::new(text.as_bytes(), 0, text.len()).expect("it is short");
        let keys: Vec<(Key, TokenId)> = (0..500).map(|id| (key(&format!("entry {id}")), id)).collect();
        let words = Words::new(keys.iter().copied());
        assert!(keys.iter().all(|(key, id)| words.get(*key, key.hash()) == Some(*id)));
        assert_eq!(words.get(key("entry"), key("entry").hash()), None);
    }
}
