//! A cache of pieces with their tokens: most pieces came before.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::large_pages::LargePages;

/// The most pieces that are kept, and the most bytes of those that are long.
const MOST: usize = 1 << 18;
const MOST_BYTES: usize = 1 << 23;
/// A longer piece is not kept.
const LONGEST: usize = 1 << 10;
/// The most tokens that are kept with a piece. More are kept elsewhere.
pub(crate) const FEW: usize = 3;
/// The size of a table at first.
const FEWEST: usize = 1 << 9;
/// How many times as large a table becomes when it is full: each time, all pieces are moved.
const GROWTH: usize = 4;
/// A piece is at most this many places away from its own one, whatever a text was made for.
const FAR: usize = 8;

/// One table, in which a piece is at the place that its hash tells, or the next one that has room.
pub(crate) struct PieceCache {
    /// A power of two. At most half of what they can keep is taken.
    places: LargePages<Pair>,
    count: usize,
    /// The tokens of pieces that have more than a few.
    many: Vec<TokenId>,
    /// The texts of long pieces.
    texts: String,
}

/// What is known of pieces at their own places.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    places: &'a [Pair],
    /// The number of a hash's lowest bits that do not tell the place.
    shift: u32,
}

/// A line of the processor's cache. With two pieces at a place, hardly any that comes often finds its own one taken.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Pair([Kept; 2]);

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Kept {
    /// [`Key::EMPTY`], as memory is at first, where there is none. Of a long piece, or one with more than a few tokens, a key
    /// that no short piece has.
    key: Key,
    /// The tokens, or the place of the first among the many; then their count.
    ids: [TokenId; FEW + 1],
}

/// Where a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    place: usize,
    at: usize,
}

impl Default for PieceCache {
    fn default() -> Self {
        Self { places: LargePages::zeroed(FEWEST), count: 0, many: Vec::new(), texts: String::new() }
    }
}

impl PieceCache {
    /// The table by itself, for many look-ups while nothing changes.
    #[inline]
    pub(crate) fn table(&self) -> Table<'_> {
        Table { places: &self.places, shift: u64::BITS - self.places.len().ilog2() }
    }

    /// The place of a piece with this hash. The hash of a short piece is that of its key.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        self.table().place(hash)
    }

    /// Asks for the memory of a piece: others can be asked for until it is there.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.table().prefetch(hash);
    }

    /// Asks for the memory of the text of a long piece that may be there.
    #[inline]
    pub(crate) fn prefetch_text(&self, hash: u64) {
        let text = self.places[self.place(hash)].0[0].key.parts()[1] as u32;
        prefetch_index(self.texts.as_bytes(), text as usize);
    }

    /// Where a short piece is that was kept. That is right until another piece is kept.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<Found> {
        self.find_by(key.quick_hash(), |kept| kept.is(key) || kept.is(of_many(key)))
    }

    /// Where a long piece is that was kept. That is right until another piece is kept.
    pub(crate) fn find_long(&self, piece: &str, hash: u64) -> Option<Found> {
        if piece.len() > LONGEST {
            return None;
        }
        self.find_by(hash, |kept| {
            let place = kept.parts()[1] as u32;
            let text = || &self.texts[place as usize..place as usize + piece.len()];
            kept == long_key(hash, piece.len(), place) && text() == piece
        })
    }

    #[inline]
    fn find_by(&self, hash: u64, is_it: impl Fn(Key) -> bool) -> Option<Found> {
        let mut place = self.place(hash);
        for _ in 0..FAR {
            for (at, kept) in self.places[place].0.iter().enumerate() {
                if kept.key == Key::EMPTY {
                    return None;
                }
                if is_it(kept.key) {
                    return Some(Found { place, at });
                }
            }
            place = self.next(place);
        }
        None
    }

    #[inline]
    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    /// The tokens of a piece.
    #[inline]
    pub(crate) fn tokens(&self, Found { place, at }: Found) -> &[TokenId] {
        let ids = &self.places[place].0[at].ids;
        let count = ids[FEW] as usize;
        if count > FEW { &self.many[ids[0] as usize..][..count] } else { &ids[..count] }
    }

    /// Keeps some of these tokens as those of a short piece, if there is room and it is not known.
    #[inline]
    pub(crate) fn put(&mut self, key: Key, of: &[TokenId], tokens: Range<usize>) {
        self.put_as(if tokens.len() > FEW { of_many(key) } else { key }, of, tokens);
    }

    /// Keeps some of these tokens as those of a long piece that is not known, if there is room.
    pub(crate) fn put_long(&mut self, piece: &str, hash: u64, of: &[TokenId], tokens: Range<usize>) {
        if piece.len() <= LONGEST && self.count < MOST && self.texts.len() + piece.len() <= MOST_BYTES {
            let key = long_key(hash, piece.len(), self.texts.len() as u32);
            self.texts.push_str(piece);
            self.put_as(key, of, tokens);
        }
    }

    #[inline]
    fn put_as(&mut self, key: Key, of: &[TokenId], tokens: Range<usize>) {
        if self.count == MOST {
            return;
        }
        if self.count == self.places.len() {
            self.grow();
        }
        let Some(Found { place, at }) = self.place_for(key) else { return };
        let mut ids = [0; FEW + 1];
        match of[tokens.start..].first_chunk::<FEW>() {
            _ if tokens.len() > FEW => {
                ids[0] = self.many.len() as u32;
                self.many.extend_from_slice(&of[tokens.clone()]);
            }
            // Always the same number, so that nothing depends on how many they are.
            Some(few) => ids[..FEW].copy_from_slice(few),
            None => ids[..tokens.len()].copy_from_slice(&of[tokens.clone()]),
        }
        ids[FEW] = tokens.len() as u32;
        self.places[place].0[at] = Kept { key, ids };
        self.count += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.places.len() * GROWTH).min(MOST);
        let smaller = std::mem::replace(&mut self.places, LargePages::zeroed(size));
        let kept = smaller.iter().flat_map(|Pair(pair)| pair);
        for kept in kept.filter(|kept| kept.key != Key::EMPTY) {
            if let Some(Found { place, at }) = self.place_for(kept.key) {
                self.places[place].0[at] = *kept;
            }
        }
    }

    /// The first place that is free, or else that of another piece. None if it is there.
    #[inline]
    fn place_for(&self, key: Key) -> Option<Found> {
        let own = self.place(hash_of(key));
        let mut place = own;
        for _ in 0..FAR {
            for (at, kept) in self.places[place].0.iter().enumerate() {
                if kept.key == Key::EMPTY {
                    return Some(Found { place, at });
                }
                if kept.key.is(key) {
                    return None;
                }
            }
            place = self.next(place);
        }
        Some(Found { place: own, at: 1 })
    }

    /// Makes room for pieces of this many bytes, if there can be as much: forgets all others.
    #[inline]
    pub(crate) fn make_room(&mut self, bytes: usize) {
        let is_full = |used: usize, most: usize| used + bytes > most && used > most / 2;
        if is_full(self.count, MOST) || is_full(self.texts.len(), MOST_BYTES) {
            self.places.fill(Pair::zeroed());
            self.count = 0;
            self.many.clear();
            self.texts.clear();
        }
    }
}

impl<'a> Table<'a> {
    /// The place of a piece with this hash. The hash of a short piece is that of its key.
    #[inline]
    fn place(self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// Asks for the memory of a piece: others can be asked for until it is there.
    #[inline]
    pub(crate) fn prefetch(self, hash: u64) {
        prefetch_index(self.places, self.place(hash));
    }

    /// The tokens of a piece and then their count, and whether it is known: if it is a short one with a few tokens, and
    /// at its own place. So most pieces are found, without any branch. Of two that begin alike, only one is.
    #[inline]
    pub(crate) fn get_few(self, key: Key, hash: u64) -> (&'a [TokenId; FEW + 1], bool) {
        let Pair(pair) = &self.places[self.place(hash)];
        let kept = &pair[usize::from(pair[1].key.begins_as(key))];
        (&kept.ids, kept.key.is(key))
    }
}

/// What the highest byte of a key, the length of a short piece, is of a long one, and what is set in it if there are more
/// tokens than a few.
const LONG: u8 = 0xFF;
const MANY: u8 = 0x80;

/// The key of a long piece: its hash, its length, and where its text is kept.
fn long_key(hash: u64, length: usize, place: u32) -> Key {
    Key::of_parts([hash, u64::from(LONG) << 56 | (length as u64) << 32 | u64::from(place)])
}

/// The key of a short piece that has many tokens.
#[inline]
fn of_many(key: Key) -> Key {
    let [low, high] = key.parts();
    Key::of_parts([low, high | u64::from(MANY) << 56])
}

/// The hash of what was kept with this key.
fn hash_of(key: Key) -> u64 {
    let [low, high] = key.parts();
    match (high >> 56) as u8 {
        LONG => low,
        _ => Key::of_parts([low, high & !(u64::from(MANY) << 56)]).quick_hash(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes(), 0, text.len() as u32)
    }

    fn found(cache: &PieceCache, key: Key) -> Option<Vec<TokenId>> {
        Some(cache.tokens(cache.find(key)?).to_vec())
    }

    #[test]
    fn what_was_put_is_found_and_nothing_else() {
        let mut cache = PieceCache::default();
        for (piece, count) in ["a", "a\0", "a\0\0", " hello", " hello, and wha"].into_iter().zip(1..) {
            assert_eq!(found(&cache, key(piece)), None);
            let tokens = vec![count; count as usize];
            cache.put(key(piece), &tokens, 0..tokens.len());
            assert_eq!(found(&cache, key(piece)), Some(tokens));
        }
    }

    #[test]
    fn pieces_made_for_one_place_are_never_mixed_up() {
        let mut cache = PieceCache::default();
        let of_one_place = |number: u64| {
            let high = 15 << 56 | number << 32;
            Key::of_parts([high.rotate_left(32), high])
        };
        for number in 0..5_000 {
            let key = of_one_place(number);
            assert_eq!((key.quick_hash(), found(&cache, key)), (0, None));
            cache.put(key, &[number as TokenId], 0..1);
            assert_eq!(found(&cache, key), Some(vec![number as TokenId]));
        }
        let kept: Vec<u64> = (0..5_000).filter(|number| cache.find(of_one_place(*number)).is_some()).collect();
        assert!(kept.iter().all(|number| found(&cache, of_one_place(*number)) == Some(vec![*number as TokenId])));
        assert!(kept.len() <= 2 * FAR);
    }

    #[test]
    fn long_pieces_are_told_apart_by_their_text() {
        let mut cache = PieceCache::default();
        let pieces: Vec<String> = (0..14).map(|id| format!("a piece of many bytes, {id:>5}")).collect();
        // With few hashes, most are alike.
        for (id, piece) in (0..).zip(&pieces) {
            assert_eq!(cache.find_long(piece, u64::from(id % 7)), None);
            cache.put_long(piece, u64::from(id % 7), &[id; 5], 0..5);
        }
        for (id, piece) in (0..).zip(&pieces) {
            let kept = cache.find_long(piece, u64::from(id % 7)).expect("it was kept");
            assert_eq!(cache.tokens(kept), [id; 5]);
        }
        cache.put_long(&"x".repeat(LONGEST + 1), 1, &[1], 0..1);
        assert_eq!(cache.find_long(&"x".repeat(LONGEST + 1), 1), None);
    }

    #[test]
    fn more_pieces_than_there_is_room_for_are_never_mixed_up() {
        let mut cache = PieceCache::default();
        for _ in 0..2 {
            for id in 0..2 * MOST as TokenId {
                let key = key(&id.to_string());
                if found(&cache, key).is_none() {
                    cache.make_room(1);
                    cache.put(key, &[id], 0..1);
                }
                assert_eq!(found(&cache, key), Some(vec![id]));
            }
        }
        assert!(cache.count <= MOST && cache.places.len() == MOST);
    }

    #[test]
    fn what_has_no_room_is_not_kept() {
        let mut cache = PieceCache::default();
        (0..=MOST).for_each(|id| cache.put(key(&id.to_string()), &[0], 0..1));
        assert_eq!(found(&cache, key("0")), Some(vec![0]));
        assert_eq!(found(&cache, key(&MOST.to_string())), None);
    }
}
