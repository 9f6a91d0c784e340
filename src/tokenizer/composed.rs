//! Cheap tests whether a text is composed (in the form NFC or NFKC), as nearly all text is.
//!
//! Normalizing begins with the same test, but looks up each character in three tables.

use std::iter::once;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};

use crate::tokenizer::pages::{PAGE, Pages};

/// A bit for each character of a page.
type Bits = [u64; PAGE / 64];

/// The characters that are composed regardless of their neighbours.
static INERT: Pages<Bits> = Pages::new(|chars| bits(chars, |c| is_nfc_quick(once(c)) == IsNormalized::Yes));
/// The same for the form NFKC.
static INERT_COMPATIBLY: Pages<Bits> = Pages::new(|chars| bits(chars, |c| is_nfkc_quick(once(c)) == IsNormalized::Yes));

/// The characters that this is true of, but those that combine with others.
fn bits(chars: &[Option<char>], is_composed: fn(char) -> bool) -> Bits {
    let is_inert = |c: char| canonical_combining_class(c) == 0 && is_composed(c);
    let mut bits = [0; PAGE / 64];
    for (at, c) in chars.iter().enumerate() {
        bits[at / 64] |= u64::from(c.is_some_and(is_inert)) << (at % 64);
    }
    bits
}

fn has(pages: &Pages<Bits>, c: char) -> bool {
    pages.get(c as usize).is_some_and(|(bits, at)| bits[at / 64] >> (at % 64) & 1 == 1)
}

/// Whether the text is certainly composed. If not, only normalizing can tell.
pub(crate) fn is_composed(text: &str) -> bool {
    if text.is_ascii() || pulp::Arch::new().dispatch(Plain(text.as_bytes())) {
        return true;
    }
    // In UTF-8 these bytes, and no others, begin the characters from U+0300 on, where combining characters begin.
    all_from(text, 0xCC, &INERT)
}

/// Whether the text is certainly in the form NFKC. If not, only normalizing can tell.
pub(crate) fn is_compatibly_composed(text: &str) -> bool {
    text.is_ascii() || all_from(text, 0x80, &INERT_COMPATIBLY)
}

/// Whether all characters that begin with this byte or a higher one are in these pages.
fn all_from(text: &str, lowest: u8, pages: &Pages<Bits>) -> bool {
    let mut rest = text;
    while let Some(at) = rest.as_bytes().iter().position(|byte| *byte >= lowest) {
        // Between characters, a byte from 0x80 on begins one.
        let mut chars = rest[at..].chars();
        if !chars.next().is_some_and(|c| has(pages, c)) {
            return false;
        }
        rest = chars.as_str();
    }
    true
}

/// A text of which [`is_plain`] is asked with what the processor has.
struct Plain<'a>(&'a [u8]);

impl pulp::NullaryFnOnce for Plain<'_> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        is_plain(self.0)
    }
}

/// Whether a text has none of the characters that may compose, nor of others that begin with the same bytes: text of
/// Latin, Cyrillic, Chinese, Japanese and Korean has hardly any. Looks at many bytes at once.
#[inline(always)]
fn is_plain(text: &[u8]) -> bool {
    let (second, third) = (text.get(1..).unwrap_or_default(), text.get(2..).unwrap_or_default());
    let triples = text.iter().zip(second).zip(third);
    let is_any_special = triples.fold(false, |any, ((first, second), third)| any | is_special(*first, *second, *third));
    // The last two bytes may be a character, too.
    let at_end = || second.len().checked_sub(1).is_some_and(|last| is_special(text[last], text[last + 1], 0));
    !is_any_special && !at_end()
}

/// Whether a character may begin with these three bytes that composes with another. Without branches.
#[inline(always)]
fn is_special(first: u8, second: u8, third: u8) -> bool {
    let between = |byte: u8, low: u8, high: u8| byte.wrapping_sub(low) <= high - low;
    let of_two = between(first, 0xCC, 0xDF) & !between(first, 0xCF, 0xD1);
    let of_punctuation =
        (first == 0xE2) & (second != 0x80) & !between(second, 0x85, 0x8B) & !between(second, 0x8D, 0xAA);
    let quad = (first == 0xE2) & (second == 0x80) & (third <= 0x81);
    let kana = (first == 0xE3)
        & ((second == 0x80) & between(third, 0xAA, 0xAF) | (second == 0x82) & between(third, 0x99, 0x9A));
    let before_hangul = (first == 0xEA) & (second < 0xB0);
    let compatible = (first == 0xEF) & between(second, 0xA4, 0xB8);
    of_two | between(first, 0xE0, 0xE1) | of_punctuation | quad | kana | before_hangul | compatible | (first >= 0xF0)
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    #[test]
    fn composed_text_does_not_change() {
        type Form = (fn(&str) -> bool, fn(&str) -> String);
        let forms: [Form; 2] =
            [(is_composed, |text| text.nfc().collect()), (is_compatibly_composed, |text| text.nfkc().collect())];
        for (is_composed, compose) in forms {
            let inert: Vec<char> = ('\0'..=char::MAX).filter(|c| is_composed(c.encode_utf8(&mut [0; 4]))).collect();
            assert!(inert.len() > 100_000);
            // Each alone, after others and before others.
            for (a, b) in inert.iter().zip(inert.iter().rev()) {
                let text: String = [*a, 'a', *b, '\u{e9}', *a, *b, '\u{4e00}', *a, '\u{1100}', *b].iter().collect();
                assert!(is_composed(&text));
                assert_eq!(compose(&text), text);
            }
        }
    }

    #[test]
    fn what_may_compose_is_not_certain() {
        for text in ["e\u{301}", "\u{1161}", "\u{304b}\u{3099}", "\u{340}", "\u{2126}", "\u{f900}", "\u{20000}"] {
            assert!(!is_composed(text) && !is_compatibly_composed(text), "{text:?}");
        }
        for text in ["\u{a0}", "½", "ﬁ", "１", "㎏", "…", "™", "\u{3000}", "ｶ"] {
            assert!(is_composed(text) && !is_compatibly_composed(text), "{text:?}");
        }
    }
}
