//! What kind of character each one of several bytes is, as the reference sees it.

use std::sync::LazyLock;

use bitcannon::classify::classify;

use crate::tokenizer::bpe::split::older_unicode::{LONG_S, respell};

/// So many characters, which differ in their last byte, have a bit in each number of a row.
const ROW: usize = 64;
/// Characters from here on are not known.
const END: usize = 0x20000;

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

/// The kinds of all characters that are known.
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    rows: Vec<Row>,
}

pub(super) static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let (mut text, mut respelled) = (String::new(), String::new());
    for c in ('\0'..).take_while(|c| (*c as usize) < END) {
        match respell(c.encode_utf8(&mut [0; 4]), false, &mut respelled) {
            true => text.push_str(&respelled),
            false => text.push(c),
        }
    }
    let mut tags = vec![0; text.len()];
    classify(text.as_bytes(), &mut tags);
    // No character begins with a surrogate.
    let mut kinds = vec![Kind::Unknown; END];
    for (c, (at, _)) in ('\0'..).zip(text.char_indices()) {
        kinds[c as usize] = if c == LONG_S { Kind::LongS } else { kind_of_tag(tags[at]) };
    }
    let rows = kinds.chunks(ROW).map(row).collect();
    Kinds { kinds, rows }
});

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

impl Kinds {
    /// The row of a character, by its bits above the lowest six.
    #[inline]
    pub(super) fn row(&self, number: usize) -> Row {
        self.rows.get(number).copied().unwrap_or_default()
    }

    /// The kind of a character.
    pub(super) fn get(&self, c: usize) -> Kind {
        self.kinds.get(c).copied().unwrap_or(Kind::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::bpe::split::blocks::classes::{LETTERS_OF_THREE, LETTERS_OF_TWO};

    #[test]
    fn with_some_bytes_letters_alone_begin() {
        let is_letter = |c: usize| matches!(KINDS.get(c), Kind::Capital | Kind::Small | Kind::Letter);
        for (bytes, own, others) in [(LETTERS_OF_TWO, 0x1F, 6), (LETTERS_OF_THREE, 0x0F, 12)] {
            let [first, last] = bytes.map(|byte| usize::from(byte & own));
            assert!((first << others..(last + 1) << others).all(is_letter));
        }
    }
}
