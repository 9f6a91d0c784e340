//! A bounded, exact cache of encoded runs: few-shot examples and the template's own words come again
//! in every prompt, and need not be encoded again.
//!
//! A run is kept only when it is seen for the second time, so that unique text costs one write of
//! four bytes. A hit compares the whole text: equal hashes are never enough.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;

const SEEN: usize = 1 << 15;
const SLOTS: usize = 1 << 12;
/// A longer run is not kept.
const LONGEST: usize = 1 << 16;
/// With more bytes of text and ids than this the cache starts anew.
const BUDGET: usize = 16 << 20;

/// Where an encoded run may be kept, from [`RunCache::get`].
pub(crate) struct Place(u64);

pub(crate) struct RunCache {
    seen: Box<[u32]>,
    slots: Vec<Option<Entry>>,
    bytes: usize,
}

struct Entry {
    hash: u64,
    opens_prompt: bool,
    text: Box<str>,
    ids: Box<[TokenId]>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len() + self.ids.len() * size_of::<TokenId>()
    }
}

impl RunCache {
    pub(crate) fn new() -> Self {
        Self { seen: vec![0; SEEN].into(), slots: (0..SLOTS).map(|_| None).collect(), bytes: 0 }
    }

    /// The ids of a run, or where to put them.
    pub(crate) fn get(&self, text: &str, opens_prompt: bool) -> Result<&[TokenId], Place> {
        let hash = FixedState::with_seed(u64::from(opens_prompt)).hash_one(text.as_bytes());
        match &self.slots[hash as usize % SLOTS] {
            Some(entry) if entry.hash == hash && entry.opens_prompt == opens_prompt && *entry.text == *text => {
                Ok(&entry.ids)
            }
            _ => Err(Place(hash)),
        }
    }

    /// Keeps the ids of a run, if this is the second time that it is seen.
    pub(crate) fn put(&mut self, Place(hash): Place, text: &str, opens_prompt: bool, ids: &[TokenId]) {
        let seen = &mut self.seen[(hash >> 32) as usize % SEEN];
        // Never zero, which is what a place holds that has seen nothing.
        let tag = hash as u32 | 1;
        if *seen != tag || text.len() > LONGEST {
            *seen = tag;
            return;
        }
        let entry = Entry { hash, opens_prompt, text: text.into(), ids: ids.into() };
        if self.bytes + entry.bytes() > BUDGET {
            self.slots.fill_with(|| None);
            self.bytes = 0;
        }
        self.bytes += entry.bytes();
        if let Some(old) = self.slots[hash as usize % SLOTS].replace(entry) {
            self.bytes -= old.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(cache: &RunCache, text: &str, opens_prompt: bool) -> Option<Vec<TokenId>> {
        cache.get(text, opens_prompt).ok().map(<[_]>::to_vec)
    }

    fn put(cache: &mut RunCache, text: &str, opens_prompt: bool, ids: &[TokenId]) {
        if let Err(place) = cache.get(text, opens_prompt) {
            cache.put(place, text, opens_prompt, ids);
        }
    }

    #[test]
    fn kept_the_second_time_and_told_apart() {
        let mut cache = RunCache::new();
        put(&mut cache, "run", false, &[1, 2]);
        assert_eq!(get(&cache, "run", false), None);
        put(&mut cache, "run", false, &[1, 2]);
        assert_eq!(get(&cache, "run", false), Some(vec![1, 2]));
        assert_eq!(get(&cache, "run", true), None);
        assert_eq!(get(&cache, "run ", false), None);
    }

    #[test]
    fn bounded() {
        let mut cache = RunCache::new();
        for i in 0..2_000 {
            let text = format!("{i:05}").repeat(10_000);
            put(&mut cache, &text, false, &[i]);
            put(&mut cache, &text, false, &[i]);
            assert!(cache.bytes <= BUDGET);
            assert_eq!(cache.bytes, cache.slots.iter().flatten().map(Entry::bytes).sum::<usize>());
        }
    }
}
