//! The short entries of a vocabulary that their own text merges to: a piece that is one of them need not be merged.

use std::hint::select_unpredictable;

use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::places::Places;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// No id: of a piece that is no word.
pub(crate) const NO_WORD: TokenId = TokenId::MAX;

/// So many words come often. Their table is as small as the processor's second cache can keep all the time.
const OFTEN: usize = 1 << 15;

/// Tables of them, for all threads.
pub(crate) struct Words {
    often: Often,
    others: Others,
}

/// Words of at most eight bytes that come often: those that the vocabulary has first.
struct Often {
    places: Places,
    words: Vec<ShortWord>,
}

/// A quarter of a line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct ShortWord {
    low: u64,
    len: u32,
    id: TokenId,
}

/// All other words.
struct Others {
    places: Places,
    words: Vec<Word>,
}

/// Half a line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Word {
    key: Key,
    id: TokenId,
}

impl Words {
    /// From words in the order of their ids. None if two are the same.
    pub(crate) fn new(words: &[(Key, TokenId)]) -> Option<Self> {
        let [often, others] = part(words);
        let places =
            |words: &[(Key, TokenId)]| Places::new(&words.iter().map(|(key, _)| key.hash()).collect::<Vec<_>>());
        Some(Self::with_places([places(&often)?, places(&others)?], &often, &others))
    }

    fn with_places([first, second]: [Places; 2], often: &[(Key, TokenId)], others: &[(Key, TokenId)]) -> Self {
        let empty = ShortWord { low: 0, len: 0, id: NO_WORD };
        let mut words = vec![empty; first.count()];
        for (key, id) in often {
            words[first.of(key.hash())] = ShortWord { low: key.low(), len: key.len() as u32, id: *id };
        }
        let often = Often { places: first, words };
        let mut words = vec![Word { key: Key::EMPTY, id: NO_WORD }; second.count()];
        for (key, id) in others {
            words[second.of(key.hash())] = Word { key: *key, id: *id };
        }
        Self { often, others: Others { places: second, words } }
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        let Self { often, others } = self;
        let often_words = often.words.iter().map(|word| (Key::short(word.low, word.len), word.id));
        let mut words: Vec<_> = often_words.chain(others.words.iter().map(|word| (word.key, word.id))).collect();
        words.retain(|(_, id)| *id != NO_WORD);
        words.sort_unstable_by_key(|(_, id)| *id);
        often.places.write(blocks);
        others.places.write(blocks);
        blocks.u64s(&words.iter().flat_map(|(key, _)| key.parts()).collect::<Vec<_>>());
        blocks.u32s(&words.iter().map(|(_, id)| *id).collect::<Vec<_>>());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let places = [Places::read(blocks)?, Places::read(blocks)?];
        let (keys, ids) = (blocks.u64s()?, blocks.u32s()?);
        let words: Vec<_> = keys.as_chunks().0.iter().map(|parts| Key::of_parts(*parts)).zip(ids).collect();
        let [often, others] = part(&words);
        Some(Self::with_places(places, &often, &others))
    }

    /// The word with this key if it is one of those that come often, else [`NO_WORD`].
    #[inline]
    pub(crate) fn get_often(&self, key: Key) -> TokenId {
        let word = &self.often.words[self.often.places.of(key.hash())];
        let is_it = (word.low ^ key.low()) | (u64::from(word.len) ^ key.len_and_high()) == 0;
        select_unpredictable(is_it, word.id, NO_WORD)
    }

    /// Where a piece with this hash is among the other words, and asks for its memory: others can be asked for until it is
    /// there.
    #[inline]
    pub(crate) fn place(&self, hash: u64) -> usize {
        let place = self.others.places.of(hash);
        prefetch_index(&self.others.words, place);
        place
    }

    /// The word at this place if it has this key, else [`NO_WORD`].
    #[inline]
    pub(crate) fn get_at(&self, place: usize, key: Key) -> TokenId {
        let word = &self.others.words[place];
        select_unpredictable(word.key.is(key), word.id, NO_WORD)
    }

    /// The word with this key, or [`NO_WORD`].
    pub(crate) fn get(&self, key: Key) -> TokenId {
        // One of them is all ones.
        self.get_often(key) & self.get_at(self.others.places.of(key.hash()), key)
    }
}

/// Those that come often, and the others.
fn part(words: &[(Key, TokenId)]) -> [Vec<(Key, TokenId)>; 2] {
    let mut room = OFTEN;
    let (often, others) = words.iter().partition(|(key, _)| {
        let is_often = room > 0 && key.len() <= 8;
        room -= usize::from(is_often);
        is_often
    });
    [often, others]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_word_is_found_and_nothing_else() {
        let key = |text: &str| Key::new(text.as_bytes(), 0, text.len());
        let of = |id: TokenId| if id.is_multiple_of(2) { key(&id.to_string()) } else { key(&format!("entry {id}")) };
        let keys: Vec<(Key, TokenId)> = (0..3 * OFTEN as TokenId).map(|id| (of(id), id)).collect();
        let words = Words::new(&keys).expect("they are different");
        assert!(keys.iter().all(|(key, id)| words.get(*key) == *id));
        for other in [key("entry"), Key::EMPTY, Key::LONG] {
            assert_eq!(words.get(other), NO_WORD);
        }
    }
}
