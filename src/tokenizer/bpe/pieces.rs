//! A cache of short pieces that are no entry: most of them came before.
//!
//! A piece of at most 15 bytes is a number of 128 bits with its length, so that comparing it costs as much as comparing
//! a number.

use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;

/// The slots at the begin, and at most. Each is half a line of the processor's cache.
const FEWEST_SLOTS: usize = 1 << 10;
const MOST_SLOTS: usize = 1 << 19;
/// A piece of more bytes has no key.
const LONGEST: usize = 15;
/// So many tokens are kept in a slot. More are kept elsewhere.
const FEW: usize = 3;

/// The bytes of pieces of each length.
const OWN: [u128; 16] = {
    let mut own = [0; 16];
    let mut len = 1;
    while len < 16 {
        own[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    own
};

/// The text of a short piece and its length, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    /// Of no piece.
    pub(crate) const EMPTY: Self = Self(0);

    /// The key of these bytes; none for a long piece.
    #[inline]
    pub(crate) fn new(text: &[u8], start: usize, end: usize) -> Option<Self> {
        let len = end - start;
        if len > LONGEST {
            return None;
        }
        let bytes = match text.get(start..start + 16) {
            Some(bytes) => bytes.try_into().map(u128::from_le_bytes).unwrap_or_default(),
            None => {
                let mut bytes = [0; 16];
                bytes[..len].copy_from_slice(&text[start..end]);
                u128::from_le_bytes(bytes)
            }
        };
        Some(Self((bytes & OWN[len]) | (len as u128) << 120))
    }

    /// The inverse of [`Self::parts`].
    pub(crate) fn of_parts(parts: [u32; 4]) -> Self {
        Self(parts.iter().rev().fold(0, |key, part| key << 32 | u128::from(*part)))
    }

    /// Four numbers, the lowest first.
    pub(crate) fn parts(self) -> [u32; 4] {
        [0, 32, 64, 96].map(|shift| (self.0 >> shift) as u32)
    }

    #[inline]
    pub(crate) fn hash(self) -> u64 {
        let (low, high) = (self.0 as u64 ^ 0x243F_6A88_85A3_08D3, (self.0 >> 64) as u64 ^ 0x1319_8A2E_0370_7344);
        let product = u128::from(low) * u128::from(high);
        product as u64 ^ (product >> 64) as u64
    }
}

pub(crate) struct PieceCache {
    /// A power of two.
    slots: Vec<Slot>,
    used: usize,
    /// The tokens of pieces that have more than a few.
    many: Vec<TokenId>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    /// The tokens, or the place of the first among the many; then their count.
    ids: [u32; FEW + 1],
}

impl Slot {
    const EMPTY: Self = Self { key: Key::EMPTY, ids: [0; FEW + 1] };
}

impl PieceCache {
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot::EMPTY; FEWEST_SLOTS], used: 0, many: Vec::new() }
    }

    /// The slot of a piece, or an empty one.
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

    /// Appends the tokens of a piece; false if they are not known.
    #[inline]
    pub(crate) fn append(&self, key: Key, hash: u64, ids: &mut Vec<TokenId>) -> bool {
        let slot = &self.slots[self.slot(key, hash)];
        if slot.key != key {
            return false;
        }
        let count = slot.ids[FEW] as usize;
        if count > FEW {
            let first = slot.ids[0] as usize;
            ids.extend_from_slice(&self.many[first..first + count]);
        } else {
            // Always the same number, of which some are taken back, so that nothing depends on how many they are.
            let len = ids.len() + count;
            ids.extend_from_slice(&slot.ids);
            ids.truncate(len);
        }
        true
    }

    /// Keeps the tokens of a piece that is not known.
    pub(crate) fn put(&mut self, key: Key, hash: u64, ids: &[TokenId]) {
        if self.used * 2 >= self.slots.len() {
            self.make_room();
        }
        let mut kept = [0; FEW + 1];
        kept[FEW] = ids.len() as u32;
        match kept.get_mut(..ids.len()).filter(|_| ids.len() <= FEW) {
            Some(few) => few.copy_from_slice(ids),
            None => {
                kept[0] = self.many.len() as u32;
                self.many.extend_from_slice(ids);
            }
        }
        let slot = self.slot(key, hash);
        self.used += usize::from(self.slots[slot].key == Key::EMPTY);
        self.slots[slot] = Slot { key, ids: kept };
    }

    /// Takes more memory, or begins anew if that is all.
    fn make_room(&mut self) {
        if self.slots.len() == MOST_SLOTS {
            self.slots.fill(Slot::EMPTY);
            self.many.clear();
            self.used = 0;
            return;
        }
        let more = vec![Slot::EMPTY; self.slots.len() * 2];
        for kept in std::mem::replace(&mut self.slots, more) {
            if kept.key != Key::EMPTY {
                let slot = self.slot(kept.key, kept.key.hash());
                self.slots[slot] = kept;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_found_and_nothing_else() {
        let mut cache = PieceCache::new();
        let mut ids = Vec::new();
        let text = "a\0\0 hello, and what comes after it";
        let keys = [(0, 1), (0, 2), (0, 3), (3, 9), (3, 18), (20, 34)]
            .map(|(start, end)| Key::new(text.as_bytes(), start, end));
        assert!(keys.iter().enumerate().all(|(i, key)| keys.iter().skip(i + 1).all(|other| other != key)));
        assert!(Key::new(text.as_bytes(), 3, 19).is_none());
        // A key is the same wherever the piece is.
        assert!(Key::new(b" hello", 0, 6) == keys[3]);
        for (key, id) in keys.iter().flatten().zip(1..) {
            let (key, hash) = (*key, key.hash());
            assert!(!cache.append(key, hash, &mut ids));
            let tokens = vec![id; id as usize];
            cache.put(key, hash, &tokens);
            assert!(cache.append(key, hash, &mut ids));
            assert_eq!(std::mem::take(&mut ids), tokens);
        }
    }

    #[test]
    fn more_pieces_than_there_is_room_for_are_never_mixed_up() {
        let mut cache = PieceCache::new();
        for round in 0..2 {
            for id in 0..MOST_SLOTS as TokenId {
                let text = id.to_string();
                let key = Key::new(text.as_bytes(), 0, text.len()).expect("it is short");
                let mut ids = Vec::new();
                if cache.append(key, key.hash(), &mut ids) {
                    assert_eq!(ids, [id]);
                } else {
                    cache.put(key, key.hash(), &[id]);
                }
                assert!(cache.append(key, key.hash(), &mut ids), "{round}");
                assert_eq!(ids.last(), Some(&id));
            }
        }
        assert_eq!(cache.slots.len(), MOST_SLOTS);
    }
}
