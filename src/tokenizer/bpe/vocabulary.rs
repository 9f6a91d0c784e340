//! The entries of a vocabulary, by id and by text.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// No id: an empty place.
const NONE: TokenId = TokenId::MAX;

/// A vocabulary in four blocks of memory.
pub(crate) struct Vocabulary {
    /// All entries, in the order in which they were added.
    text: String,
    /// The bytes of the entry of each id; from 1 to 0 if there is none.
    places: Vec<(u32, u32)>,
    /// Ids by the hash of their entry.
    slots: Vec<TokenId>,
    entries: usize,
}

impl Vocabulary {
    /// Room for this many entries, with this many bytes.
    pub(crate) fn with_capacity(entries: usize, bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            places: Vec::with_capacity(entries),
            slots: vec![NONE; (entries * 2).next_power_of_two().max(16)],
            entries: 0,
        }
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.bytes(self.text.as_bytes());
        blocks.u32s(&self.places.iter().flat_map(|(start, end)| [*start, *end]).collect::<Vec<_>>());
        blocks.u32s(&self.slots);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let text = str::from_utf8(blocks.bytes()?).ok()?.to_owned();
        let places = blocks.u32s()?.as_chunks().0.iter().map(|[start, end]| (*start, *end)).collect();
        let slots = blocks.u32s()?;
        let entries = slots.iter().filter(|id| **id != NONE).count();
        (slots.len().is_power_of_two() && entries < slots.len()).then_some(Self { text, places, slots, entries })
    }

    /// Adds an entry. The same text or id again replaces what was there.
    pub(crate) fn insert(&mut self, entry: &str, id: TokenId) {
        if (self.entries + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let start = self.text.len() as u32;
        self.text.push_str(entry);
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, (1, 0));
        }
        self.places[id as usize] = (start, self.text.len() as u32);
        let slot = self.slot(&[entry]);
        self.entries += usize::from(self.slots[slot] == NONE);
        self.slots[slot] = id;
    }

    fn grow(&mut self) {
        let ids = std::mem::take(&mut self.slots);
        self.slots = vec![NONE; ids.len() * 2];
        for id in ids.into_iter().filter(|id| *id != NONE) {
            let (start, end) = self.places[id as usize];
            let slot = self.slot(&[&self.text[start as usize..end as usize]]);
            self.slots[slot] = id;
        }
    }

    /// The entry of an id.
    pub(crate) fn entry(&self, id: TokenId) -> Option<&str> {
        let (start, end) = *self.places.get(id as usize)?;
        self.text.get(start as usize..end as usize)
    }

    /// The id of an entry.
    pub(crate) fn id(&self, entry: &str) -> Option<TokenId> {
        self.id_of_joined(&[entry])
    }

    /// The id of the entry that these texts make together.
    pub(crate) fn id_of_joined(&self, texts: &[&str]) -> Option<TokenId> {
        Some(self.slots[self.slot(texts)]).filter(|id| *id != NONE)
    }

    /// Where the entry is, or would be.
    fn slot(&self, texts: &[&str]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(texts) as usize & mask;
        loop {
            let id = self.slots[slot];
            if id == NONE || self.entry(id).is_some_and(|entry| is_joined(entry, texts)) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The lowest number above all ids.
    pub(crate) fn ids(&self) -> TokenId {
        self.places.len() as TokenId
    }

    /// All entries with their ids, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TokenId, &str)> {
        (0..self.ids()).filter_map(|id| Some((id, self.entry(id)?)))
    }
}

fn is_joined(entry: &str, texts: &[&str]) -> bool {
    let mut rest = entry;
    texts.iter().all(|text| rest.strip_prefix(text).map(|left| rest = left).is_some()) && rest.is_empty()
}

/// A hash of the joined bytes.
fn hash(texts: &[&str]) -> u64 {
    let state = FixedState::with_seed(0);
    match texts {
        [text] => state.hash_one(text.as_bytes()),
        _ => {
            let length: usize = texts.iter().map(|text| text.len()).sum();
            let mut short = [0; 64];
            if length <= short.len() {
                let mut at = 0;
                for text in texts {
                    short[at..at + text.len()].copy_from_slice(text.as_bytes());
                    at += text.len();
                }
                state.hash_one(&short[..length])
            } else {
                state.hash_one(texts.concat().as_bytes())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_id_by_text_and_by_parts() {
        let mut vocabulary = Vocabulary::with_capacity(0, 0);
        let long = "x".repeat(70);
        let entries: Vec<String> = (0..1000).map(|i| format!("entry {i}")).chain([long.clone()]).collect();
        for (id, entry) in entries.iter().enumerate() {
            vocabulary.insert(entry, id as TokenId * 2);
        }
        for (id, entry) in entries.iter().enumerate() {
            let id = id as TokenId * 2;
            assert_eq!((vocabulary.entry(id), vocabulary.entry(id + 1)), (Some(entry.as_str()), None));
            let (head, tail) = entry.split_at(3);
            assert_eq!((vocabulary.id(entry), vocabulary.id_of_joined(&[head, tail])), (Some(id), Some(id)));
        }
        assert_eq!(vocabulary.id("entry"), None);
        assert_eq!(vocabulary.id_of_joined(&["entry ", "1", "0000"]), None);
        assert_eq!(vocabulary.iter().count(), 1001);
    }
}
