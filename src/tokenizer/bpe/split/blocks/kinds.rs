//! What kind of character each one of several bytes is, as the reference sees it.

use bitcannon::classify::classify;

use crate::tokenizer::bpe::split::older_unicode::{LONG_S, respell};
use crate::tokenizer::pages::Pages;

/// So many characters, which differ in their last byte, have a bit in each number of a row.
const ROW: usize = 64;

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
    Other,
    /// Nothing is known of it.
    Unknown,
}

/// Characters that differ in their last byte.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    /// What is a letter or something other for every pattern; what is not needs another look.
    pub(super) plain: u64,
    /// The same for patterns with case, for which marks are not.
    pub(super) plain_with_case: u64,
    pub(super) letters: u64,
    pub(super) capitals: u64,
    pub(super) caseless: u64,
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
    let rows = kinds.chunks(ROW).map(row).collect();
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
        0x06 => Kind::Mark,
        0x01 | 0x02 | 0x31 => Kind::Digit,
        0x03..=0x05 => Kind::White,
        _ => Kind::Other,
    }
}

fn row(kinds: &[Kind]) -> Row {
    let bits = |is: fn(Kind) -> bool| (0..).zip(kinds).map(|(at, kind)| u64::from(is(*kind)) << at).sum();
    use Kind::{Capital, Letter, Mark, Other, Small};
    Row {
        plain: bits(|kind| matches!(kind, Capital | Small | Letter | Mark | Other)),
        plain_with_case: bits(|kind| matches!(kind, Capital | Small | Letter | Other)),
        letters: bits(|kind| matches!(kind, Capital | Small | Letter)),
        capitals: bits(|kind| kind == Capital),
        caseless: bits(|kind| kind == Letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::blocks::classes::{LETTERS_OF_THREE, LETTERS_OF_TWO};

    #[test]
    fn with_some_bytes_letters_alone_begin() {
        let is_letter = |c: usize| matches!(kind_of(c), Kind::Capital | Kind::Small | Kind::Letter);
        for (bytes, own, others) in [(LETTERS_OF_TWO, 0x1F, 6), (LETTERS_OF_THREE, 0x0F, 12)] {
            let [first, last] = bytes.map(|byte| usize::from(byte & own));
            assert!((first << others..(last + 1) << others).all(is_letter));
        }
    }
}
