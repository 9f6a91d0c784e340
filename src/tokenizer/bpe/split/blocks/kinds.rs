//! What kind of character each one of several bytes is, as the reference sees it.

use bitcannon::classify::classify;

use crate::tokenizer::bpe::split::older_unicode::{LONG_S, respell};
use crate::tokenizer::pages::Pages;

/// The number of characters in a row, which differ in their last byte. Each has a bit in each number of the row.
const ROW: usize = 64;

/// How `bitcannon` tags marks.
pub(in crate::tokenizer::bpe::split) const MARK: u8 = 0x06;

/// What the patterns tell from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Capital,
    Small,
    /// A letter without case.
    Letter,
    Mark,
    Digit,
    White,
    /// A small letter, and a part of contractions.
    LongS,
    /// Punctuation, or a symbol.
    Sign,
    Other,
    /// Nothing is known of it.
    Unknown,
}

/// Characters that differ in their last byte.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    /// Characters that every pattern takes for letters, or for something other. The rest needs another look.
    pub(super) plain: u64,
    /// Such characters for patterns with case: marks are not among them.
    pub(super) plain_with_case: u64,
    /// Such characters for patterns with scripts: letters, marks, and signs outside of scripts.
    pub(super) plain_with_scripts: u64,
    pub(super) letters: u64,
    pub(super) capitals: u64,
    pub(super) caseless: u64,
    pub(super) marks: u64,
    /// Letters and marks of scripts.
    pub(super) scripts: u64,
}

/// Whether a character is in one of the scripts that are apart from other text: Chinese and Japanese.
pub(super) fn is_of_script(c: usize) -> bool {
    matches!(c, 0x3040..=0x30FF | 0x4E00..=0x9FA5)
}

/// Whether a character is Chinese, as `\p{Han}` tells.
pub(super) fn is_han(c: usize) -> bool {
    matches!(c, 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFA6D | 0xFA70..=0xFAD9 | 0x3005 | 0x3007 | 0x3021..=0x3029
        | 0x3038..=0x303B | 0x2E80..=0x2E99 | 0x2E9B..=0x2EF3 | 0x2F00..=0x2FD5 | 0x16FE2..=0x16FE3 | 0x16FF0..=0x16FF1
        | 0x20000..=0x2A6DF | 0x2A700..=0x2B739 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 | 0x2CEB0..=0x2EBE0
        | 0x2EBF0..=0x2EE5D | 0x2F800..=0x2FA1D | 0x30000..=0x3134A | 0x31350..=0x323AF)
}

/// The kinds of the characters of a part.
struct Kinds {
    kinds: Vec<Kind>,
    rows: Vec<Row>,
}

/// The kinds of all characters that are known.
static KINDS: Pages<Kinds> = Pages::new(|chars| {
    let (mut text, mut respelled) = (String::new(), String::new());
    for c in chars.iter().flatten() {
        match respell(c.encode_utf8(&mut [0; 4]), false, &mut respelled) {
            true => text.push_str(&respelled),
            false => text.push(*c),
        }
    }
    let mut tags = vec![0; text.len()];
    classify(text.as_bytes(), &mut tags);
    let mut places = text.char_indices().map(|(at, _)| at);
    let kind = |c: &Option<char>| match c {
        None => Kind::Unknown,
        Some(c) => {
            let tag = places.next().map_or(0, |at| tags[at]);
            if *c == LONG_S { Kind::LongS } else { kind_of_tag(tag) }
        }
    };
    let kinds: Vec<Kind> = chars.iter().map(kind).collect();
    // No part begins with a surrogate.
    let first = chars.first().copied().flatten().map_or(0, |c| c as usize);
    let rows = (first..).step_by(ROW).zip(kinds.chunks(ROW)).map(|(first, kinds)| row(first, kinds)).collect();
    Kinds { kinds, rows }
});

/// The row of a character, by its bits above the lowest six.
#[inline(always)]
pub(super) fn row_of(number: usize) -> Row {
    KINDS.get(number * ROW).map(|(page, first)| page.rows[first / ROW]).unwrap_or_default()
}

/// The kind of a character.
pub(super) fn kind_of(c: usize) -> Kind {
    KINDS.get(c).map_or(Kind::Unknown, |(page, at)| page.kinds[at])
}

fn kind_of_tag(tag: u8) -> Kind {
    match tag {
        0x10 => Kind::Capital,
        0x20 => Kind::Small,
        0x00 | 0x30 => Kind::Letter,
        MARK => Kind::Mark,
        0x01 | 0x02 | 0x31 => Kind::Digit,
        0x03..=0x05 => Kind::White,
        0x07..=0x0A | 0x16 | 0x3A => Kind::Sign,
        _ => Kind::Other,
    }
}

/// The row of the characters from the first one on.
fn row(first: usize, kinds: &[Kind]) -> Row {
    let bits = |is: &dyn Fn(usize, Kind) -> bool| {
        (first..).zip(kinds).map(|(c, kind)| u64::from(is(c, *kind)) << (c - first)).sum()
    };
    use Kind::{Capital, Letter, Mark, Other, Sign, Small};
    let is_letter = |kind| matches!(kind, Capital | Small | Letter);
    Row {
        plain: bits(&|_, kind| is_letter(kind) || matches!(kind, Mark | Sign | Other)),
        plain_with_case: bits(&|_, kind| is_letter(kind) || matches!(kind, Sign | Other)),
        plain_with_scripts: bits(&|c, kind| is_letter(kind) || kind == Mark || kind == Sign && !is_of_script(c)),
        letters: bits(&|_, kind| is_letter(kind)),
        capitals: bits(&|_, kind| kind == Capital),
        caseless: bits(&|_, kind| kind == Letter),
        marks: bits(&|_, kind| kind == Mark),
        scripts: bits(&|c, kind| (is_letter(kind) || kind == Mark) && is_of_script(c)),
    }
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, HirKind};

    use super::*;
    use crate::tokenizer::bpe::split::blocks::classes::{
        IDEOGRAPHS, LETTERS_OF_THREE, LETTERS_OF_TWO, SMALL_FROM, SMALL_TO,
    };

    #[test]
    fn with_some_bytes_letters_alone_begin() {
        let is_letter = |c: usize| matches!(kind_of(c), Kind::Capital | Kind::Small | Kind::Letter);
        for (bytes, own, others) in [(LETTERS_OF_TWO, 0x1F, 6), (LETTERS_OF_THREE, 0x0F, 12)] {
            let [first, last] = bytes.map(|byte| usize::from(byte & own));
            assert!((first << others..(last + 1) << others).all(is_letter));
        }
        let [first, second] = LETTERS_OF_TWO.map(|byte| usize::from(byte & 0x1F) << 6);
        let [small, end] = [SMALL_FROM, SMALL_TO].map(|byte| usize::from(byte & 0x3F));
        assert!((first..first + small).all(|c| kind_of(c) == Kind::Capital));
        assert!((first + small..second + end).all(|c| kind_of(c) == Kind::Small));
        let [first, last] = LETTERS_OF_THREE.map(|byte| usize::from(byte & 0x0F));
        assert!((first << 12..(last + 1) << 12).all(|c| kind_of(c) == Kind::Letter));
        let [first, last] = IDEOGRAPHS.map(|byte| usize::from(byte & 0x0F));
        assert!((first << 12..(last + 1) << 12).all(|c| is_letter(c) && is_of_script(c) && is_han(c)));
    }

    #[test]
    fn chinese_is_what_the_pattern_says() {
        let parsed = regex_syntax::parse(r"\p{Han}").expect("it is one");
        let HirKind::Class(Class::Unicode(han)) = parsed.kind() else { panic!("it is a class") };
        let is_in = |c: char| han.iter().any(|range| (range.start()..=range.end()).contains(&c));
        let differ: Vec<char> = ('\0'..=char::MAX).filter(|c| is_in(*c) != is_han(*c as usize)).collect();
        assert!(differ.is_empty(), "{differ:?}");
    }
}
