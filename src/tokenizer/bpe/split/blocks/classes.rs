//! What kind of character each of 64 bytes belongs to, a bit for each.

use crate::tokenizer::bpe::split::blocks::simd::{SIZE, Simd};

/// The first and the last of the bytes with which letters alone begin.
pub(super) const LETTERS_OF_TWO: [u8; 2] = [0xD0, 0xD1];
pub(super) const LETTERS_OF_THREE: [u8; 2] = [0xE5, 0xE9];
/// The first and the last of the bytes with which letters of a script alone begin.
pub(super) const IDEOGRAPHS: [u8; 2] = [0xE5, 0xE8];

/// After the first one of [`LETTERS_OF_TWO`], a byte below this one makes a capital letter, and any other a small one.
pub(super) const SMALL_FROM: u8 = 0xB0;
/// After the second one, a byte below this one makes a small letter.
pub(super) const SMALL_TO: u8 = 0xA0;
const LAST: u64 = 1 << (SIZE - 1);

/// What patterns tell from one another that others need not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// Capital letters, and slashes.
    pub(super) case: bool,
    /// Letters and signs of scripts, and control characters.
    pub(super) scripts: bool,
    /// Letters of Chinese alone.
    pub(super) han: bool,
    /// Marks, which are like letters.
    pub(super) marks: bool,
    /// Digits of several bytes.
    pub(super) wide_digits: bool,
}

/// A bit for each of 64 bytes of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Letters and signs of scripts, which are in no other class.
    pub(super) script_letters: u64,
    pub(super) script_signs: u64,
    /// The first byte of each character of several bytes, and the bytes after it.
    pub(super) leads: u64,
    pub(super) inner: u64,
    /// The first bytes of characters of two and of three bytes that are certainly letters: most of Cyrillic and Chinese.
    pub(super) letters_of_two: u64,
    pub(super) letters_of_three: u64,
    /// The first bytes of characters of which nothing is known.
    pub(super) unknown: u64,
}

impl Classes {
    /// The classes of the first `len` of these bytes. What is not ASCII is in no class yet, and only looked for if the
    /// text `is_wide`.
    #[inline(always)]
    pub(super) fn of(simd: impl Simd, bytes: &[u8; SIZE], len: usize, told: Told, is_wide: bool) -> Self {
        let mut classes = Self::default();
        let bytes = simd.load(bytes);
        let letters = simd.is_between(simd.with(bytes, 0x20), b'a', b'z');
        let digits = simd.is_between(bytes, b'0', b'9');
        let spaces = simd.is(bytes, b' ');
        let white = simd.either(spaces, simd.is_between(bytes, b'\t', b'\r'));
        let mut known = simd.either(simd.either(letters, digits), white);
        classes.letters = simd.bits(letters);
        classes.digits = simd.bits(digits);
        classes.spaces = simd.bits(spaces);
        classes.white = simd.bits(white);
        classes.line_ends = simd.bits(simd.either(simd.is(bytes, b'\n'), simd.is(bytes, b'\r')));
        classes.apostrophes = simd.bits(simd.is(bytes, b'\''));
        if told.case {
            classes.capitals = simd.bits(simd.is_between(bytes, b'A', b'Z'));
            classes.slashes = simd.bits(simd.is(bytes, b'/'));
        }
        if is_wide {
            // As numbers with a sign, bytes of other characters are below zero.
            known = simd.either(known, simd.is_below_zero(bytes));
            classes.inner = simd.bits(simd.is_below(bytes, 0xC0));
            classes.leads = simd.bits(simd.is_below_zero(bytes)) & !classes.inner;
            let of_three = if told.scripts || told.han { IDEOGRAPHS } else { LETTERS_OF_THREE };
            classes.letters_of_three = simd.bits(simd.is_between(bytes, of_three[0], of_three[1]));
            if told.case {
                let first = simd.bits(simd.is(bytes, LETTERS_OF_TWO[0]));
                let second = simd.bits(simd.is(bytes, LETTERS_OF_TWO[1]));
                let from_capitals = simd.bits(simd.is_below(bytes, SMALL_FROM)) >> 1;
                let up_to_small = simd.bits(simd.is_below(bytes, SMALL_TO)) >> 1;
                // Which byte follows the last one is not known here.
                let capitals = first & from_capitals & !LAST;
                let small = first & !from_capitals | second & up_to_small;
                classes.letters_of_two = capitals | small & !LAST;
                classes.capitals |= capitals | capitals << 1;
            } else {
                classes.letters_of_two = simd.bits(simd.is_between(bytes, LETTERS_OF_TWO[0], LETTERS_OF_TWO[1]));
            }
        }
        let there = u64::MAX >> (SIZE - len);
        if told.scripts {
            let controls = simd.bits(simd.either(simd.is_between(bytes, 0, 0x1F), simd.is(bytes, 0x7F)));
            classes.unknown = controls & !classes.white & there;
        }
        Self { others: !simd.bits(known) & there, ..classes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::bpe::split::blocks::simd::Portable;

    #[cfg(target_arch = "x86_64")]
    proptest! {
        #[test]
        fn all_processors_find_the_same(bytes: [u8; SIZE], len in 1..=SIZE, case: bool, scripts: bool, is_wide: bool) {
            let told = Told { case, scripts, han: false, marks: false, wide_digits: false };
            let found = Classes::of(Portable, &bytes, len, told, is_wide);
            if let Some(simd) = pulp::x86::V3::try_new() {
                prop_assert_eq!(Classes::of(simd, &bytes, len, told, is_wide), found);
            }
            if let Some(simd) = pulp::x86::V4::try_new() {
                prop_assert_eq!(Classes::of(simd, &bytes, len, told, is_wide), found);
            }
        }
    }

    #[test]
    fn each_byte_is_of_its_class() {
        for byte in 0..=255_u8 {
            let told = Told { case: true, scripts: false, han: false, marks: false, wide_digits: true };
            let classes = Classes::of(Portable, &[byte; SIZE], SIZE, told, true);
            let all = |is: bool| if is { u64::MAX } else { 0 };
            assert_eq!(classes.letters, all(byte.is_ascii_alphabetic()), "{byte:#x}");
            assert_eq!(classes.capitals, all(byte.is_ascii_uppercase()), "{byte:#x}");
            assert_eq!(classes.digits, all(byte.is_ascii_digit()), "{byte:#x}");
            assert_eq!(classes.white, all(char::from(byte).is_whitespace() && byte.is_ascii()), "{byte:#x}");
            assert_eq!(classes.leads, all(byte >= 0xC0), "{byte:#x}");
            assert_eq!(classes.inner, all((0x80..0xC0).contains(&byte)), "{byte:#x}");
            let known = classes.letters | classes.digits | classes.white | classes.leads | classes.inner;
            assert_eq!(classes.others, !known, "{byte:#x}");
            let told = Told { scripts: true, ..told };
            let classes = Classes::of(Portable, &[byte; SIZE], SIZE, told, true);
            assert_eq!(classes.unknown, all(byte.is_ascii_control() && !(b'\t'..=b'\r').contains(&byte)), "{byte:#x}");
        }
    }
}
