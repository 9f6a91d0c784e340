//! A cheap test whether a text is composed (in the form NFC), as nearly all text is.
//!
//! Normalizing begins with the same test, but looks up each character in three tables.

use std::iter::once;
use std::sync::LazyLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// One bit for each character below U+20000 that is composed regardless of its neighbours.
static INERT: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut bits = vec![0; 0x20000 / 64];
    for c in '\0'..='\u{1ffff}' {
        if canonical_combining_class(c) == 0 && is_nfc_quick(once(c)) == IsNormalized::Yes {
            bits[c as usize / 64] |= 1_u64 << (c as usize % 64);
        }
    }
    bits.into()
});

/// Whether the text is certainly composed. If not, only normalizing can tell.
pub(crate) fn is_composed(text: &str) -> bool {
    // In UTF-8 these bytes, and no others, begin the characters from U+0300 on, where combining characters begin.
    let is_beyond_latin = |byte: &u8| *byte >= 0xCC;
    if text.is_ascii() || !text.as_bytes().iter().fold(false, |beyond, byte| beyond | is_beyond_latin(byte)) {
        return true;
    }
    let inert = &**INERT;
    let mut rest = text;
    while let Some(at) = rest.as_bytes().iter().position(is_beyond_latin) {
        let mut chars = rest[at..].chars();
        let is_inert = |c: char| inert.get(c as usize / 64).is_some_and(|bits| bits >> (c as usize % 64) & 1 == 1);
        if !chars.next().is_some_and(is_inert) {
            return false;
        }
        rest = chars.as_str();
    }
    true
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    #[test]
    fn composed_text_does_not_change() {
        let inert: Vec<char> = ('\0'..=char::MAX).filter(|c| is_composed(c.encode_utf8(&mut [0; 4]))).collect();
        assert!(inert.len() > 100_000);
        // Each alone, after others and before others.
        for (a, b) in inert.iter().zip(inert.iter().rev()) {
            let text: String = [*a, 'a', *b, '\u{e9}', *a, *b, '\u{4e00}', *a, '\u{1100}', *b].iter().collect();
            assert_eq!(text.nfc().collect::<String>(), text);
        }
    }

    #[test]
    fn what_may_compose_is_not_certain() {
        for text in ["e\u{301}", "\u{1161}", "\u{304b}\u{3099}", "\u{340}", "\u{2126}", "\u{f900}", "\u{20000}"] {
            assert!(!is_composed(text), "{text:?}");
        }
    }
}
