//! A bounded, exact cache of encoded runs: few-shot examples and the template's own words are repeated in every prompt,
//! and need not be encoded again.
//!
//! Text that is never repeated must cost next to nothing: a run is kept only when it is seen for the second time, and a
//! look-up touches two small tables, not the runs. While no long run is repeated, only some of them are looked up.
//! Useful entries are not evicted by text that occurs only once. A hit compares the whole text: equal hashes are never
//! enough.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::tokenizer::{Spelled, TokenId};

// Small enough to stay in the processor's caches while text streams through them.
const SEEN: usize = 1 << 13;
const SLOTS: usize = 1 << 14;
/// A longer run is not kept.
const LONGEST: usize = 1 << 16;
/// How many bytes of a long run are sampled to find its slot, and how often, from end to end.
const SAMPLE: usize = 16;
const SAMPLES: usize = 5;
/// With more bytes of text and ids than this, the cache starts over.
const BUDGET: usize = 16 << 20;
/// A run of this many bytes is long: worth more to keep, but looking up too many without a hit is a waste.
pub(crate) const LONG: usize = 48;
/// Once this many more long runs were missed than found, only one in eight is looked up.
const MOST_MISSED: u32 = 512;
/// Finding this many bytes of a long run saves as much time as looking up a run takes.
const WORTH: usize = 32;
/// How many runs with the same slot an entry survives between two hits.
const LIVES: u8 = 8;

/// Where an encoded run may be kept, from [`RunCache::get`].
#[derive(Clone, Copy)]
pub(crate) struct Place(u64);

impl Place {
    /// For a long text, its length and a few samples are enough to find a slot. Runs that share these are rare, and
    /// then merely compete for it.
    fn of(text: &str, opens_prompt: bool) -> Self {
        let (bytes, seed) = (text.as_bytes(), FixedState::with_seed(u64::from(opens_prompt)));
        if bytes.len() <= SAMPLES * SAMPLE {
            return Self(seed.hash_one(bytes));
        }
        let mut sampled = [0; SAMPLES * SAMPLE + size_of::<usize>()];
        let (samples, len) = sampled.split_at_mut(SAMPLES * SAMPLE);
        len.copy_from_slice(&bytes.len().to_ne_bytes());
        for (i, sample) in samples.chunks_exact_mut(SAMPLE).enumerate() {
            let start = (bytes.len() - SAMPLE) * i / (SAMPLES - 1);
            sample.copy_from_slice(&bytes[start..start + SAMPLE]);
        }
        Self(seed.hash_one(sampled))
    }

    fn slot(self) -> usize {
        self.0 as usize % SLOTS
    }

    fn seen(self) -> usize {
        (self.0 >> 32) as usize % SEEN
    }

    /// Never zero, which marks an empty slot.
    fn tag(self) -> u16 {
        (self.0 >> 48) as u16 | 1
    }
}

pub(crate) struct RunCache {
    seen: Box<[u16]>,
    tags: Box<[u16]>,
    /// None before the first run is kept.
    entries: Vec<Option<Entry>>,
    bytes: usize,
    /// How many long runs were missed, less as many as those are worth that were found; at most [`MOST_MISSED`].
    missed: u32,
    /// How often [`Self::should_look_up_long`] was asked.
    asked: u32,
    counts: Counts,
}

/// How many runs were asked for, and how many of them found, with their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) asked: u64,
    pub(crate) asked_bytes: u64,
    pub(crate) found: u64,
    pub(crate) found_bytes: u64,
}

struct Entry {
    opens_prompt: bool,
    lives: u8,
    text: Box<str>,
    ids: Box<[TokenId]>,
    /// How its tokens are its text, once somebody asked.
    spelled: Option<Spelled>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len() + self.ids.len() * size_of::<TokenId>()
    }
}

impl RunCache {
    pub(crate) fn new() -> Self {
        Self {
            seen: vec![0; SEEN].into(),
            tags: vec![0; SLOTS].into(),
            entries: Vec::new(),
            bytes: 0,
            missed: 0,
            asked: 0,
            counts: Counts::default(),
        }
    }

    /// The ids of a run, or where to put them, or neither if looking it up is not worthwhile.
    pub(crate) fn get(&mut self, text: &str, opens_prompt: bool) -> Result<&[TokenId], Option<Place>> {
        self.counts.asked += 1;
        self.counts.asked_bytes += text.len() as u64;
        if text.len() >= LONG && !self.should_look_up_long() {
            return Err(None);
        }
        self.look_up(text, opens_prompt).map_err(Some)
    }

    /// Whether looking up a long run is worthwhile.
    pub(crate) fn should_look_up_long(&mut self) -> bool {
        self.asked = self.asked.wrapping_add(1);
        self.missed < MOST_MISSED || is_one_in_eight(self.asked)
    }

    /// The ids of a run, or where to put them.
    pub(crate) fn look_up(&mut self, text: &str, opens_prompt: bool) -> Result<&[TokenId], Place> {
        let (place, is_long) = (Place::of(text, opens_prompt), text.len() >= LONG);
        if self.tags[place.slot()] == place.tag()
            && let Some(Some(entry)) = self.entries.get_mut(place.slot())
            && entry.opens_prompt == opens_prompt
            && *entry.text == *text
        {
            entry.lives = LIVES;
            self.counts.found += 1;
            self.counts.found_bytes += text.len() as u64;
            if is_long {
                self.missed = self.missed.saturating_sub((text.len() / WORTH) as u32);
            }
            return Ok(&entry.ids);
        }
        if is_long {
            self.missed = (self.missed + 1).min(MOST_MISSED);
        }
        Err(place)
    }

    /// Counts runs and their bytes that were known without asking.
    pub(crate) fn count_found(&mut self, runs: u64, bytes: u64) {
        self.counts.asked += runs;
        self.counts.asked_bytes += bytes;
        self.counts.found += runs;
        self.counts.found_bytes += bytes;
    }

    /// How often it served.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// How the tokens of a run are its text, which `find` finds; of a run that is kept, only once.
    pub(crate) fn spelled(&mut self, text: &str, opens_prompt: bool, find: impl FnOnce() -> Spelled) -> Spelled {
        let place = Place::of(text, opens_prompt);
        match self.entries.get_mut(place.slot()) {
            Some(Some(entry)) if entry.opens_prompt == opens_prompt && *entry.text == *text => {
                *entry.spelled.get_or_insert_with(find)
            }
            _ => find(),
        }
    }

    /// Keeps the ids of a run, if it is seen for the second time.
    pub(crate) fn put(&mut self, place: Place, text: &str, opens_prompt: bool, ids: &[TokenId]) {
        if self.comes_again(place, text) {
            self.keep(place, text, opens_prompt, ids);
        }
    }

    /// Whether a run is seen for the second time, and may be kept.
    pub(crate) fn comes_again(&mut self, place: Place, text: &str) -> bool {
        let seen = std::mem::replace(&mut self.seen[place.seen()], place.tag());
        seen == place.tag() && text.len() <= LONGEST
    }

    /// Keeps the ids of a run, if no better one has its slot.
    pub(crate) fn keep(&mut self, place: Place, text: &str, opens_prompt: bool, ids: &[TokenId]) {
        if self.entries.is_empty() {
            self.entries.resize_with(SLOTS, || None);
        }
        let slot = &mut self.entries[place.slot()];
        if let Some(entry) = slot {
            entry.lives -= 1;
            if entry.lives > 0 {
                return;
            }
            self.bytes -= entry.bytes();
        }
        let entry =
            slot.insert(Entry { opens_prompt, lives: LIVES, text: text.into(), ids: ids.into(), spelled: None });
        self.tags[place.slot()] = place.tag();
        self.bytes += entry.bytes();
        if self.bytes > BUDGET {
            self.tags.fill(0);
            self.entries.fill_with(|| None);
            self.bytes = 0;
        }
    }
}

/// Picks numbers without any period, or else of prompts with eight long runs always the same one would be looked up.
fn is_one_in_eight(number: u32) -> bool {
    number.wrapping_mul(0x9E37_79B1) >> 29 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(cache: &mut RunCache, text: &str, opens_prompt: bool) -> Option<Vec<TokenId>> {
        cache.get(text, opens_prompt).ok().map(<[_]>::to_vec)
    }

    fn put(cache: &mut RunCache, text: &str, opens_prompt: bool, ids: &[TokenId]) {
        if let Err(Some(place)) = cache.get(text, opens_prompt) {
            cache.put(place, text, opens_prompt, ids);
        }
    }

    #[test]
    fn kept_the_second_time_and_told_apart() {
        let mut cache = RunCache::new();
        put(&mut cache, "run", false, &[1, 2]);
        assert_eq!(get(&mut cache, "run", false), None);
        put(&mut cache, "run", false, &[1, 2]);
        assert_eq!(get(&mut cache, "run", false), Some(vec![1, 2]));
        assert_eq!(get(&mut cache, "run", true), None);
        assert_eq!(get(&mut cache, "run ", false), None);
        assert_eq!(cache.counts(), Counts { asked: 6, asked_bytes: 19, found: 1, found_bytes: 3 });
    }

    #[test]
    fn useful_entries_stay() {
        let mut cache = RunCache::new();
        put(&mut cache, "again", false, &[1]);
        put(&mut cache, "again", false, &[1]);
        // A hundred times as many runs as there are places, each twice, pass through.
        for i in 0..100 * SLOTS as u32 {
            let text = i.to_string();
            put(&mut cache, &text, false, &[i]);
            put(&mut cache, &text, false, &[i]);
            if i % 100 == 0 {
                assert_eq!(get(&mut cache, "again", false), Some(vec![1]), "after {i}");
            }
        }
    }

    #[test]
    fn long_runs_are_found_again_after_a_long_time_without_any() {
        let mut cache = RunCache::new();
        for i in 0..10_000 {
            put(&mut cache, &format!("{i:>100}"), false, &[i]);
        }
        let run = "x".repeat(100);
        let times = (0..).take_while(|_| {
            put(&mut cache, &run, false, &[7]);
            get(&mut cache, &run, false).is_none()
        });
        assert!(times.count() < 100);
        assert_eq!(get(&mut cache, &run, false), Some(vec![7]));
    }

    #[test]
    fn bounded() {
        let mut cache = RunCache::new();
        for i in 0..2_000 {
            let text = format!("{i:05}").repeat(10_000);
            put(&mut cache, &text, false, &[i]);
            put(&mut cache, &text, false, &[i]);
            assert!(cache.bytes <= BUDGET);
            assert_eq!(cache.bytes, cache.entries.iter().flatten().map(Entry::bytes).sum::<usize>());
        }
    }
}
