//! The short entries of a vocabulary that their own text merges to: a piece that is one of them need not be merged.

use bytemuck::{Pod, Zeroable};
use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::large_pages::LargePages;
use crate::tokenizer::bpe::places::Places;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// No id: of a piece that is not a word.
pub(crate) const NO_WORD: TokenId = TokenId::MAX;

/// A table of them, for all threads.
pub(crate) struct Words {
    places: Places,
    /// By place.
    words: LargePages<Word>,
}

/// A word with its id, side by side: apart from each other, they would be on two pages of memory.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Word {
    key: Key,
    id: TokenId,
    unused: u32,
}

impl Words {
    /// None if two words are the same.
    pub(crate) fn new(words: &[(Key, TokenId)]) -> Option<Self> {
        let places = Places::new(&words.iter().map(|(key, _)| key.hash()).collect::<Vec<_>>())?;
        Some(Self::with_places(places, words.iter().copied()))
    }

    fn with_places(places: Places, all: impl Iterator<Item = (Key, TokenId)>) -> Self {
        let word = |key, id| Word { key, id, unused: 0 };
        let mut words = LargePages::zeroed(places.count());
        words.fill(word(Key::EMPTY, NO_WORD));
        for (key, id) in all {
            words[places.of(key.hash())] = word(key, id);
        }
        Self { places, words }
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        self.places.write(blocks);
        let words = || self.words.iter().filter(|word| word.id != NO_WORD);
        blocks.u64s(&words().flat_map(|word| word.key.parts()).collect::<Vec<_>>());
        blocks.u32s(&words().map(|word| word.id).collect::<Vec<_>>());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (places, keys, ids) = (Places::read(blocks)?, blocks.u64s()?, blocks.u32s()?);
        let keys = keys.as_chunks().0.iter().map(|parts| Key::of_parts(*parts));
        Some(Self::with_places(places, keys.zip(ids)))
    }

    /// Asks for the memory of the word with this key, if there is one: others can be asked for until it is there.
    #[inline]
    pub(crate) fn prefetch(&self, key: Key) {
        prefetch_index(&self.words[..], self.places.of(key.hash()));
    }

    /// The word with this key, or [`NO_WORD`].
    #[inline]
    pub(crate) fn get(&self, key: Key) -> TokenId {
        let word = &self.words[self.places.of(key.hash())];
        if word.key.is(key) { word.id } else { NO_WORD }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_word_is_found_and_nothing_else() {
        let key = |text: &str| Key::new(text.as_bytes(), 0, text.len() as u32);
        let of = |id: TokenId| if id.is_multiple_of(2) { key(&id.to_string()) } else { key(&format!("entry {id}")) };
        let keys: Vec<(Key, TokenId)> = (0..100_000).map(|id| (of(id), id)).collect();
        let words = Words::new(&keys).expect("they are different");
        assert!(keys.iter().all(|(key, id)| words.get(*key) == *id));
        for other in [key("entry"), Key::EMPTY, Key::LONG] {
            assert_eq!(words.get(other), NO_WORD);
        }
    }
}
