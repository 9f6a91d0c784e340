//! The short entries of a vocabulary by their bytes: a piece that is one of them need not be merged, if merging it is
//! known to give that entry.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::pieces::Key;

/// What merging an entry's own text gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Nobody has tried yet.
    Unknown,
    Whole,
    Else,
}

/// A table of all short entries, for all threads.
pub(crate) struct Words {
    /// The parts of a key, and an id.
    slots: Vec<[u32; 5]>,
    /// What is known of the entry in each slot.
    merged: Vec<AtomicU8>,
}

impl Words {
    /// From the bytes of entries.
    pub(crate) fn new<'t>(entries: impl Iterator<Item = (TokenId, &'t [u8])>, count: usize) -> Self {
        let size = (count + count / 2).next_power_of_two().max(16);
        let merged = std::iter::repeat_with(|| AtomicU8::new(0)).take(size).collect();
        let mut this = Self { slots: vec![[0; 5]; size], merged };
        for (id, bytes) in entries {
            if let Some(key) = Key::new(bytes, 0, bytes.len()).filter(|_| !bytes.is_empty()) {
                let slot = this.slot(key);
                let [a, b, c, d] = key.parts();
                this.slots[slot] = [a, b, c, d, id];
            }
        }
        this
    }

    /// The slot of a key, or an empty one, whose parts are zero.
    #[inline]
    fn slot(&self, key: Key) -> usize {
        let (slots, parts) = (&self.slots, key.parts());
        let mask = slots.len() - 1;
        let mut slot = key.hash() as usize & mask;
        while slots[slot][..4] != parts && slots[slot][..4] != [0; 4] {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// The entry with these bytes, and what its text merges to.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<(Word<'_>, Merged)> {
        let slot = self.slot(key);
        let [.., last, id] = self.slots[slot];
        // The length is there, which is not zero.
        if last == 0 {
            return None;
        }
        let merged = match self.merged[slot].load(Ordering::Relaxed) {
            0 => Merged::Unknown,
            1 => Merged::Whole,
            _ => Merged::Else,
        };
        Some((Word { id, merged: &self.merged[slot] }, merged))
    }
}

/// An entry.
#[derive(Clone, Copy)]
pub(crate) struct Word<'w> {
    pub(crate) id: TokenId,
    merged: &'w AtomicU8,
}

impl Word<'_> {
    /// Tells all threads what its text merges to.
    pub(crate) fn learn(self, ids: &[TokenId]) {
        self.merged.store(if ids == [self.id] { 1 } else { 2 }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learned_is_known() {
        let entries: Vec<String> = (0..500).map(|i| format!("entry {i}")).collect();
        let words = Words::new((0..).zip(entries.iter().map(|entry| entry.as_bytes())), entries.len());
        let key = |text: &str| Key::new(text.as_bytes(), 0, text.len()).expect("it is short");
        for (id, entry) in (0..).zip(&entries) {
            let (word, merged) = words.get(key(entry)).expect("it is an entry");
            assert_eq!((word.id, merged), (id, Merged::Unknown));
            word.learn(if id % 2 == 0 { std::slice::from_ref(&id) } else { &[1, 2] });
        }
        for (id, entry) in (0..).zip(&entries) {
            let expected = if id % 2 == 0 { Merged::Whole } else { Merged::Else };
            assert_eq!(words.get(key(entry)).map(|(word, merged)| (word.id, merged)), Some((id, expected)));
        }
        assert!(words.get(key("entry")).is_none());
    }
}
