//! A cache of short pieces: most of a text are words that came before.
//!
//! A piece of at most 15 bytes is a number of 128 bits with its length, so that comparing it costs as much as comparing
//! a number. Each has two places: a new piece comes to the one, and to the other when it comes again, so that what comes
//! once never drives out what comes often.

use crate::tokenizer::TokenId;

/// Each is half a line of the processor's cache. What is common fits its second level.
const SLOTS: usize = 1 << 15;
/// A piece of more bytes has no key.
const LONGEST: usize = 15;
/// Of more tokens it is not kept.
const MOST_TOKENS: usize = 3;

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
        let own = bytes & ((1 << (8 * len)) - 1);
        Some(Self(own | (len as u128) << 120))
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

    /// The first of its two places.
    #[inline]
    fn place(self) -> usize {
        (self.hash() as usize % SLOTS) & !1
    }
}

pub(crate) struct PieceCache {
    slots: Box<[Slot]>,
}

#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    ids: [TokenId; MOST_TOKENS],
    count: u32,
}

impl PieceCache {
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot { key: Key::EMPTY, ids: [0; MOST_TOKENS], count: 0 }; SLOTS].into() }
    }

    /// Appends the tokens of a piece; false if they are not known.
    #[inline]
    pub(crate) fn append(&mut self, key: Key, ids: &mut Vec<TokenId>) -> bool {
        let place = key.place();
        if self.slots[place].key != key {
            if self.slots[place + 1].key != key {
                return false;
            }
            self.slots.swap(place, place + 1);
        }
        let slot = &self.slots[place];
        if slot.count == 1 {
            ids.push(slot.ids[0]);
        } else {
            ids.extend_from_slice(&slot.ids[..slot.count as usize]);
        }
        true
    }

    /// Keeps the tokens of a piece, if they are not too many.
    pub(crate) fn put(&mut self, key: Key, ids: &[TokenId]) {
        if ids.len() <= MOST_TOKENS {
            let slot = &mut self.slots[key.place() + 1];
            *slot = Slot { key, ids: [0; MOST_TOKENS], count: ids.len() as u32 };
            slot.ids[..ids.len()].copy_from_slice(ids);
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
            assert!(!cache.append(*key, &mut ids));
            cache.put(*key, &[1; 4]);
            assert!(!cache.append(*key, &mut ids));
            cache.put(*key, &[id, id]);
            assert!(cache.append(*key, &mut ids));
            assert_eq!(std::mem::take(&mut ids), [id, id]);
        }
    }
}
