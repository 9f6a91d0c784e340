//! A cache of pieces that are no words: most of them came before.

use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;

/// The most pieces that are kept, and the most bytes of those that are long.
const MOST: usize = 1 << 18;
const MOST_BYTES: usize = 1 << 23;
/// A longer piece is not kept.
const LONGEST: usize = 1 << 10;
/// So many bits of an index are the number of a piece, and the others bits of its hash.
const NUMBER_BITS: u32 = 24;
/// So many tokens are kept with a piece. More are kept elsewhere.
const FEW: usize = 3;

/// The pieces are in the order in which they came, so that those that come often are close to each other.
pub(crate) struct PieceCache {
    /// Where pieces are, by their hash: a power of two. Zero where there is none.
    index: Vec<u32>,
    pieces: Vec<Kept>,
    /// The tokens of pieces that have more than a few.
    many: Vec<TokenId>,
    /// The texts of long pieces.
    texts: String,
}

/// Half a line of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Kept {
    /// Of a long piece, [`long_key`].
    key: Key,
    /// The tokens, or the place of the first among the many; then their count.
    ids: [u32; FEW + 1],
}

impl Default for PieceCache {
    fn default() -> Self {
        Self { index: vec![0; 1 << 10], pieces: Vec::new(), many: Vec::new(), texts: String::new() }
    }
}

impl PieceCache {
    #[inline]
    fn first(&self, hash: u64) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// Asks for the index of a piece: others can be asked for until it is there.
    #[inline]
    pub(crate) fn prefetch_index(&self, hash: u64) {
        prefetch_index(&self.index, self.first(hash));
    }

    /// Asks for the piece itself, once its index is there.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index(&self.pieces, number(self.index[self.first(hash)]));
    }

    /// The number of a short piece that was kept, which holds until room is made.
    #[inline]
    pub(crate) fn find(&self, key: Key, hash: u64) -> Option<usize> {
        self.find_by(hash, |kept| kept == key)
    }

    /// The same for a long piece.
    pub(crate) fn find_long(&self, piece: &str, hash: u64) -> Option<usize> {
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
    fn find_by(&self, hash: u64, is_it: impl Fn(Key) -> bool) -> Option<usize> {
        let mut at = self.first(hash);
        loop {
            let index = self.index[at];
            if index == 0 {
                return None;
            }
            if index ^ mark(hash) < 1 << NUMBER_BITS && is_it(self.pieces[number(index)].key) {
                return Some(number(index));
            }
            at = (at + 1) & (self.index.len() - 1);
        }
    }

    /// Copies the tokens of a piece to the begin of others, of which there is room for four, and returns how many they are.
    #[inline]
    pub(crate) fn copy(&self, piece: usize, to: &mut [TokenId]) -> usize {
        let ids = &self.pieces[piece].ids;
        let count = ids[FEW] as usize;
        if count > FEW {
            let first = ids[0] as usize;
            to[..count].copy_from_slice(&self.many[first..first + count]);
        } else {
            // Always the same number, so that nothing depends on how many they are.
            to[..=FEW].copy_from_slice(ids);
        }
        count
    }

    /// Keeps the tokens of a short piece that is not known, if there is room.
    pub(crate) fn put(&mut self, key: Key, hash: u64, tokens: &[TokenId]) {
        if self.pieces.len() == MOST {
            return;
        }
        let mut ids = [0; FEW + 1];
        ids[FEW] = tokens.len() as u32;
        match ids.get_mut(..tokens.len()).filter(|_| tokens.len() <= FEW) {
            Some(few) => few.copy_from_slice(tokens),
            None => {
                ids[0] = self.many.len() as u32;
                self.many.extend_from_slice(tokens);
            }
        }
        self.pieces.push(Kept { key, ids });
        if self.pieces.len() * 2 > self.index.len() {
            self.index = vec![0; self.index.len() * 2];
            (0..self.pieces.len()).for_each(|piece| self.enter(piece, hash_of(self.pieces[piece].key)));
        } else {
            self.enter(self.pieces.len() - 1, hash);
        }
    }

    /// The same for a long piece.
    pub(crate) fn put_long(&mut self, piece: &str, hash: u64, tokens: &[TokenId]) {
        if piece.len() <= LONGEST && self.pieces.len() < MOST && self.texts.len() + piece.len() <= MOST_BYTES {
            let key = long_key(hash, piece.len(), self.texts.len() as u32);
            self.texts.push_str(piece);
            self.put(key, hash, tokens);
        }
    }

    fn enter(&mut self, piece: usize, hash: u64) {
        let mut at = self.first(hash);
        while self.index[at] != 0 {
            at = (at + 1) & (self.index.len() - 1);
        }
        self.index[at] = mark(hash) | (piece as u32 + 1);
    }

    /// Makes room for pieces of so many bytes, if there can be as much: forgets all others.
    #[inline]
    pub(crate) fn make_room(&mut self, bytes: usize) {
        let is_full = |used: usize, most: usize| used + bytes > most && used > most / 2;
        if is_full(self.pieces.len(), MOST) || is_full(self.texts.len(), MOST_BYTES) {
            self.index.fill(0);
            self.pieces.clear();
            self.many.clear();
            self.texts.clear();
        }
    }
}

/// The key of a long piece: its hash, its length, and where its text is kept. No short piece has one like it.
fn long_key(hash: u64, length: usize, place: u32) -> Key {
    Key::of_parts([hash, 0xFF << 56 | (length as u64) << 32 | u64::from(place)])
}

/// The hash of what was kept with this key.
fn hash_of(key: Key) -> u64 {
    let [low, high] = key.parts();
    if high >> 56 == 0xFF { low } else { key.hash() }
}

/// The number of a piece in an index, which is not zero.
#[inline]
fn number(index: u32) -> usize {
    (index as usize & ((1 << NUMBER_BITS) - 1)).wrapping_sub(1)
}

/// The bits of a hash in an index.
#[inline]
fn mark(hash: u64) -> u32 {
    (hash >> 56) as u32 * (1 << NUMBER_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes(), 0, text.len())
    }

    fn found(cache: &PieceCache, key: Key) -> Option<Vec<TokenId>> {
        let mut ids = vec![0; 16];
        let count = cache.copy(cache.find(key, key.hash())?, &mut ids);
        ids.truncate(count);
        Some(ids)
    }

    #[test]
    fn what_was_put_is_found_and_nothing_else() {
        let mut cache = PieceCache::default();
        for (piece, count) in ["a", "a\0", "a\0\0", " hello", " hello, and wha"].into_iter().zip(1..) {
            assert_eq!(found(&cache, key(piece)), None);
            let tokens = vec![count; count as usize];
            cache.put(key(piece), key(piece).hash(), &tokens);
            assert_eq!(found(&cache, key(piece)), Some(tokens));
        }
    }

    #[test]
    fn long_pieces_are_told_apart_by_their_text() {
        let mut cache = PieceCache::default();
        let pieces: Vec<String> = (0..3000).map(|id| format!("a piece of many bytes, {id:>5}")).collect();
        // With few hashes, most are alike.
        for (id, piece) in (0..).zip(&pieces) {
            assert_eq!(cache.find_long(piece, u64::from(id % 7)), None);
            cache.put_long(piece, u64::from(id % 7), &[id; 5]);
        }
        for (id, piece) in (0..).zip(&pieces) {
            let mut ids = [0; 8];
            let kept = cache.find_long(piece, u64::from(id % 7)).expect("it was kept");
            assert_eq!((cache.copy(kept, &mut ids), ids[4]), (5, id));
        }
        cache.put_long(&"x".repeat(LONGEST + 1), 1, &[1]);
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
                    cache.put(key, key.hash(), &[id]);
                }
                assert_eq!(found(&cache, key), Some(vec![id]));
            }
        }
        assert!(cache.pieces.len() <= MOST && cache.index.len() == 2 * MOST);
    }

    #[test]
    fn what_has_no_room_is_not_kept() {
        let mut cache = PieceCache::default();
        (0..=MOST).for_each(|id| cache.put(key(&id.to_string()), key(&id.to_string()).hash(), &[0]));
        assert_eq!(found(&cache, key("0")), Some(vec![0]));
        assert_eq!(found(&cache, key(&MOST.to_string())), None);
    }
}
