//! What kind of character each of 64 bytes belongs to, a bit for each.

use wide::i8x16;

pub(super) const SIZE: usize = 64;

/// The first and the last of the bytes with which letters alone begin.
pub(super) const LETTERS_OF_TWO: [u8; 2] = [0xD0, 0xD1];
pub(super) const LETTERS_OF_THREE: [u8; 2] = [0xE5, 0xE9];

/// A bit for each of 64 bytes of a class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Classes {
    pub(super) letters: u64,
    pub(super) capitals: u64,
    /// Letters that are neither capital nor small.
    pub(super) caseless: u64,
    pub(super) digits: u64,
    pub(super) white: u64,
    pub(super) spaces: u64,
    pub(super) line_ends: u64,
    pub(super) apostrophes: u64,
    pub(super) slashes: u64,
    /// All others, with apostrophes and slashes.
    pub(super) others: u64,
    /// Of a character of several bytes the first one, and those behind it.
    pub(super) leads: u64,
    pub(super) inner: u64,
    /// The first bytes of characters of two and of three bytes that are certainly letters: most of Cyrillic and Chinese.
    pub(super) letters_of_two: u64,
    pub(super) letters_of_three: u64,
    /// The first bytes of characters of which nothing is known.
    pub(super) unknown: u64,
}

impl Classes {
    /// Of so many of these bytes. Of those that only patterns with case look at, only if it `has_case`. What is no ASCII is
    /// in no class yet, and only looked for if the text `is_wide`.
    #[inline(always)]
    pub(super) fn of(bytes: &[u8; SIZE], len: usize, has_case: bool, is_wide: bool) -> Self {
        let mut classes = Self::default();
        for (at, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let bytes = i8x16::new(sixteen.map(|byte| byte as i8));
            let is = |byte: u8| bytes.simd_eq(i8x16::splat(byte as i8));
            let between = |bytes: i8x16, first: u8, last: u8| {
                bytes.simd_gt(i8x16::splat(first as i8 - 1)) & bytes.simd_lt(i8x16::splat(last as i8 + 1))
            };
            let add = |class: &mut u64, found: i8x16| *class |= u64::from(found.to_bitmask()) << (16 * at);
            add(&mut classes.letters, between(bytes | i8x16::splat(0x20), b'a', b'z'));
            add(&mut classes.digits, between(bytes, b'0', b'9'));
            let spaces = is(b' ');
            add(&mut classes.spaces, spaces);
            add(&mut classes.white, spaces | between(bytes, b'\t', b'\r'));
            add(&mut classes.line_ends, is(b'\n') | is(b'\r'));
            add(&mut classes.apostrophes, is(b'\''));
            if has_case {
                add(&mut classes.capitals, between(bytes, b'A', b'Z'));
                add(&mut classes.slashes, is(b'/'));
            }
            if is_wide {
                // As numbers with a sign, bytes of other characters are below zero.
                add(&mut classes.leads, bytes & bytes.simd_gt(i8x16::splat(0xBF_u8 as i8)));
                add(&mut classes.inner, bytes.simd_lt(i8x16::splat(0xC0_u8 as i8)));
                if !has_case {
                    add(&mut classes.letters_of_two, between(bytes, LETTERS_OF_TWO[0], LETTERS_OF_TWO[1]));
                    add(&mut classes.letters_of_three, between(bytes, LETTERS_OF_THREE[0], LETTERS_OF_THREE[1]));
                }
            }
        }
        let others = !(classes.letters | classes.digits | classes.white | classes.leads | classes.inner);
        Self { others: others & (u64::MAX >> (SIZE - len)), ..classes }
    }
}
