//! The text of a short piece as two numbers, so that comparing it costs as much as comparing numbers.

use bytemuck::{Pod, Zeroable};

use crate::tokenizer::bpe::places;

/// A piece of more bytes is long.
const LONGEST: usize = 15;

/// The bits of pieces of each length, in the lower number and in the higher one.
const OWN: [[u64; 16]; 2] = {
    let mut own = [[0; 16]; 2];
    let mut len = 1;
    while len < 16 {
        let bits: u128 = (1 << (8 * len)) - 1;
        own[0][len] = bits as u64;
        own[1][len] = (bits >> 64) as u64;
        len += 1;
    }
    own
};

/// The text of a short piece and its length, which is in the highest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Key {
    low: u64,
    high: u64,
}

impl Key {
    /// The key that no piece has.
    pub(crate) const EMPTY: Self = Self { low: 0, high: 0 };
    /// The key that all long pieces share.
    pub(crate) const LONG: Self = Self { low: u64::MAX, high: u64::MAX };

    /// The key of these bytes.
    #[inline]
    pub(crate) fn new(text: &[u8], start: u32, end: u32) -> Self {
        Self::of_short(text, start, end).unwrap_or(Self::LONG)
    }

    /// None if they are too many.
    #[inline]
    pub(crate) fn of_short(text: &[u8], start: u32, end: u32) -> Option<Self> {
        let (start, len) = (start as usize, end.wrapping_sub(start) as usize);
        if len > LONGEST {
            return None;
        }
        // One comparison, because numbers of 32 bits cannot overflow here.
        let [low, high] = match text.get(start..start + 16).and_then(|from| from.first_chunk()) {
            Some(sixteen) => halves(sixteen),
            None => at_end(text, start),
        };
        Some(Self { low: low & OWN[0][len & LONGEST], high: high & OWN[1][len & LONGEST] | (len as u64) << 56 })
    }

    /// The inverse of [`Self::parts`].
    pub(crate) fn of_parts([low, high]: [u64; 2]) -> Self {
        Self { low, high }
    }

    /// Two numbers, the lower first.
    pub(crate) fn parts(self) -> [u64; 2] {
        [self.low, self.high]
    }

    /// The bytes of a short text, and zeros.
    #[inline]
    pub(crate) fn bytes(self) -> [u8; 16] {
        let number = u128::from(self.high & OWN[1][LONGEST]) << 64 | u128::from(self.low);
        number.to_le_bytes()
    }

    /// How many bytes a short text has.
    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.high >> 56) as usize
    }

    /// Whether a short text is ASCII.
    #[inline]
    pub(crate) fn is_ascii(self) -> bool {
        const ABOVE: u64 = 0x8080_8080_8080_8080;
        (self.low | self.high & OWN[1][LONGEST]) & ABOVE == 0
    }

    #[inline]
    pub(crate) fn hash(self) -> u64 {
        places::hash(self.low, self.high)
    }

    /// A hash whose highest bits are good enough, and that takes one step.
    #[inline]
    pub(crate) fn quick_hash(self) -> u64 {
        (self.low ^ self.high.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// The key of the same text as a part of a piece. It sets a bit that no length has, and no key of a piece with many tokens.
    pub(crate) fn of_part(self) -> Self {
        Self { high: self.high | 1 << 62, ..self }
    }

    /// Whether the lower numbers are the same.
    #[inline]
    pub(crate) fn begins_as(self, other: Self) -> bool {
        self.low == other.low
    }

    /// Whether two keys are equal, without a branch.
    #[inline]
    pub(crate) fn is(self, other: Self) -> bool {
        (self.low ^ other.low) | (self.high ^ other.high) == 0
    }
}

/// The last bytes of a text, and zeros.
#[inline]
fn at_end(text: &[u8], start: usize) -> [u64; 2] {
    let Some(sixteen) = text.last_chunk() else { return of_few(&text[start..]) };
    let [low, high] = halves(sixteen);
    let before = start + 16 - text.len();
    let number = (u128::from(high) << 64 | u128::from(low)) >> (8 * before);
    [number as u64, (number >> 64) as u64]
}

/// A text of at most 16 bytes, and zeros.
#[cold]
fn of_few(text: &[u8]) -> [u64; 2] {
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text);
    halves(&bytes)
}

#[inline]
fn halves(bytes: &[u8; 16]) -> [u64; 2] {
    let number = u128::from_le_bytes(*bytes);
    [number as u64, (number >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_text_wherever_it_is() {
        let text = b"a\0\0 hello, and what comes after it";
        let keys = [(0, 1), (0, 2), (0, 3), (3, 9), (3, 18), (20, 34), (3, 19)];
        let keys = keys.map(|(start, end)| Key::new(text, start, end));
        assert!(keys.iter().enumerate().all(|(i, key)| keys.iter().skip(i + 1).all(|other| other != key)));
        assert!(keys[6] == Key::LONG);
        assert!(Key::new(b" hello", 0, 6) == keys[3]);
        assert!(Key::new(b"", 0, 0) == Key::EMPTY);
        assert!(keys.iter().all(|key| Key::of_parts(key.parts()) == *key));
        for (short, is_ascii) in [("", true), (" hello, and wha", true), ("é", false), ("fourteen byté", false)] {
            let key = Key::new(short.as_bytes(), 0, short.len() as u32);
            assert_eq!((&key.bytes()[..key.len()], key.is_ascii()), (short.as_bytes(), is_ascii));
        }
    }
}
