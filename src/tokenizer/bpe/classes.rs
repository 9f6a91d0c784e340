//! What kind of character each code point is, as regular expressions see it.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// `\p{N}`.
pub(super) const NUMBER: u8 = 2;
/// `\s`.
pub(super) const SPACE: u8 = 4;
/// `[\r\n]`.
pub(super) const NEWLINE: u8 = 8;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`.
pub(super) const UPPER: u8 = 16;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`.
pub(super) const LOWER: u8 = 32;
/// `[\p{P}\p{S}]`.
pub(super) const PUNCTUATION: u8 = 64;
/// `[一-龥぀-ゟ゠-ヿ]`.
pub(super) const CHINESE_OR_JAPANESE: u8 = 128;

/// A byte for each code point.
static CLASSES: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut classes = vec![0; char::MAX as usize + 1];
    let patterns = [
        (r"\p{L}", LETTER),
        (r"\p{N}", NUMBER),
        (r"\s", SPACE),
        (r"[\r\n]", NEWLINE),
        (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER),
        (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER),
        (r"[\p{P}\p{S}]", PUNCTUATION),
        ("[一-龥\u{3040}-ゟ゠-ヿ]", CHINESE_OR_JAPANESE),
    ];
    for (pattern, class) in patterns {
        let parsed = regex_syntax::parse(pattern).expect("the pattern is a constant");
        let HirKind::Class(Class::Unicode(ranges)) = parsed.kind() else { continue };
        for range in ranges.iter() {
            classes[range.start() as usize..=range.end() as usize].iter_mut().for_each(|own| *own |= class);
        }
    }
    classes.into()
});

/// The classes of all characters, looked up once for many.
#[derive(Clone, Copy)]
pub(super) struct Classes(&'static [u8]);

impl Classes {
    pub(super) fn get() -> Self {
        Self(&CLASSES)
    }

    /// The classes of the character at this byte, and how many bytes it has; none at the end.
    #[inline]
    pub(super) fn at(self, text: &str, at: usize) -> Option<(u8, usize)> {
        let byte = *text.as_bytes().get(at)?;
        if byte < 0x80 {
            return Some((self.0[usize::from(byte)], 1));
        }
        let c = text[at..].chars().next()?;
        Some((self.0[c as usize], c.len_utf8()))
    }

    /// Where the characters of these classes end that begin here.
    #[inline]
    pub(super) fn run(self, text: &str, at: usize, classes: u8) -> usize {
        run(|at| self.at(text, at), at, |class| class & classes != 0)
    }

    /// Where the characters end that begin here and are neither letters, numbers nor white space.
    #[inline]
    pub(super) fn punctuation(self, text: &str, at: usize) -> usize {
        run(|at| self.at(text, at), at, |class| class & (LETTER | NUMBER | SPACE) == 0)
    }

    /// Where the numbers end that begin here, at most so many.
    #[inline]
    pub(super) fn numbers(self, text: &str, at: usize, most: usize) -> usize {
        (0..most).fold(at, |end, _| match self.at(text, end) {
            Some((class, len)) if class & NUMBER != 0 => end + len,
            _ => end,
        })
    }

    /// Where the letters end that begin here. Most are ASCII, and are read eight at a time.
    #[inline]
    pub(super) fn letters(self, text: &str, mut at: usize) -> usize {
        loop {
            let Some(eight) = text.as_bytes().get(at..at + 8) else { return self.run(text, at, LETTER) };
            let mut bytes = [0; 8];
            bytes.copy_from_slice(eight);
            let count = ascii_letters(u64::from_le_bytes(bytes));
            at += count;
            if count == 8 {
                continue;
            }
            if bytes[count] < 0x80 {
                return at;
            }
            match self.at(text, at) {
                Some((class, len)) if class & LETTER != 0 => at += len,
                _ => return at,
            }
        }
    }
}

/// Where the characters end that begin here and for which this holds, read by their class and length.
#[inline]
pub(super) fn run(class_at: impl Fn(usize) -> Option<(u8, usize)>, mut at: usize, holds: impl Fn(u8) -> bool) -> usize {
    while let Some((class, len)) = class_at(at) {
        if !holds(class) {
            break;
        }
        at += len;
    }
    at
}

/// Where white space is cut: after its last line end, or else before its last character if more follows.
pub(super) fn white_space(class_at: impl Fn(usize) -> Option<(u8, usize)>, start: usize) -> usize {
    let (mut at, mut last, mut after_newline) = (start, start, None);
    loop {
        match class_at(at) {
            Some((class, len)) if class & SPACE != 0 => {
                (last, at) = (at, at + len);
                if class & NEWLINE != 0 {
                    after_newline = Some(at);
                }
            }
            more => {
                let is_all = more.is_none() || last == start;
                return after_newline.unwrap_or(if is_all { at } else { last });
            }
        }
    }
}

/// Bytes that may open a word: what is before its letters, and of the same piece.
pub(super) type Openers = [bool; 256];

/// Only a space.
pub(super) const SPACES: Openers = {
    let mut openers = [false; 256];
    openers[b' ' as usize] = true;
    openers
};

/// `[^\r\n\p{L}\p{N}]`, as far as it is ASCII.
pub(super) const NEITHER_NEWLINE_NOR_ALPHANUMERIC: Openers = {
    let mut openers = [false; 256];
    let mut byte = 0;
    while byte < 0x80_u8 {
        openers[byte as usize] = !byte.is_ascii_alphanumeric() && !matches!(byte, b'\r' | b'\n');
        byte += 1;
    }
    openers
};

/// The first 16 bytes from here on, and how many of them are a word: letters of ASCII, perhaps with an opener before them.
/// Most pieces are. None if a word may go on, or there are not so many bytes.
#[inline]
pub(super) fn word_of_ascii(openers: &Openers, text: &str, start: usize) -> Option<(u128, usize)> {
    const HIGHEST: u128 = u128::from_ne_bytes([0x80; 16]);
    let bytes = u128::from_le_bytes(*text.as_bytes().get(start..)?.first_chunk()?);
    let is_opened = openers[usize::from(bytes as u8)];
    // The end of a word is the first byte that is no letter, but for the opener.
    let ends = (letters(bytes) ^ HIGHEST) & !(u128::from(is_opened) << 7);
    let end = ends & ends.wrapping_neg();
    let len = (ends.trailing_zeros() / 8) as usize;
    // A letter that is not ASCII would go on with the word.
    (len > usize::from(is_opened) && len < 16 && bytes & end == 0).then_some((bytes, len))
}

/// The highest bit of each byte that is a letter of ASCII.
#[inline]
fn letters(bytes: u128) -> u128 {
    const EACH: u128 = u128::from_ne_bytes([1; 16]);
    // Of capital letters, small ones. Without the eighth bit no sum reaches the next byte.
    let small = (bytes | (0x20 * EACH)) & (0x7f * EACH);
    let from_a = small + (0x80 - b'a' as u128) * EACH;
    let beyond_z = small + (0x7f - b'z' as u128) * EACH;
    from_a & !beyond_z & !bytes & (0x80 * EACH)
}

/// How many of eight bytes, from the first on, are letters of ASCII.
#[inline]
fn ascii_letters(bytes: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Of capital letters, small ones. Without the eighth bit no sum reaches the next byte.
    let small = (bytes | (0x20 * EACH)) & (0x7f * EACH);
    let from_a = small + (0x80 - b'a' as u64) * EACH;
    let beyond_z = small + (0x7f - b'z' as u64) * EACH;
    let letters = from_a & !beyond_z & !bytes & (0x80 * EACH);
    ((letters ^ (0x80 * EACH)).trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted_as_one_by_one() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                let mut bytes = *b"aZmAzbQx";
                bytes[place] = byte;
                let expected = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                assert_eq!(ascii_letters(u64::from_le_bytes(bytes)), expected, "{bytes:?}");
            }
        }
    }

    #[test]
    fn words_are_letters_after_a_space_or_none() {
        for (text, len) in [
            ("word, and so on and on", Some(4)),
            (" word and so on and on", Some(5)),
            ("  word and so on and on", None),
            (", word and so on and on", None),
            (" fourteenletter and on", Some(15)),
            ("fifteenletters_ and on", Some(14)),
            (" fifteenletterss and on", None),
            ("naïve and so on and on", None),
            ("too short", None),
            (" 1234567890 and so on", None),
        ] {
            assert_eq!(word_of_ascii(&SPACES, text, 0).map(|(_, len)| len), len, "{text:?}");
        }
    }

    #[test]
    fn classes_are_those_of_the_standard_library() {
        let classes = Classes::get();
        for c in '\0'..=char::MAX {
            let (class, len) = classes.at(c.encode_utf8(&mut [0; 4]), 0).expect("there is a character");
            assert_eq!(len, c.len_utf8());
            assert_eq!(class & SPACE != 0, c.is_whitespace(), "{c:?}");
            assert_eq!(class & (LETTER | NUMBER) != 0 && c.is_ascii(), c.is_ascii_alphanumeric(), "{c:?}");
        }
    }
}
