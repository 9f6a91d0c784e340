//! At which bytes a piece starts, by each pattern.
//!
//! A class shifted by one bit is the class of the byte before.

use crate::tokenizer::bpe::split::blocks::bits::{digit_groups, ends_of, first_of_runs};
use crate::tokenizer::bpe::split::blocks::classes::{Classes, Told};
use crate::tokenizer::bpe::split::blocks::kinds::{Kind, is_han, is_of_script, kind_of};
use crate::tokenizer::bpe::split::blocks::simd::SIZE;
use crate::tokenizer::bpe::split::pattern::Pattern;
use crate::tokenizer::bpe::split::variant::Variant;

/// How a pattern cuts.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    words: Words,
    contractions: Contractions,
    /// How many digits a piece has at most; none if they are like letters.
    digits: Option<u32>,
    /// Whether text before a digit ends there, and nothing is known of the digit.
    digits_apart: bool,
    /// Whether marks are like letters.
    marks: bool,
    /// Whether line ends after punctuation belong to it.
    tails: bool,
    /// Whether slashes belong to these line ends.
    slashes: bool,
    /// Whether Chinese and Japanese are texts of their own, marks are like letters, and only a sign of ASCII goes with
    /// letters, those of ASCII. Then nothing is known of control characters.
    scripts: bool,
    /// Whether Chinese letters are pieces of their own.
    han: bool,
}

/// What belongs to a piece of letters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// A space before the letters, as before digits and punctuation.
    Gpt2,
    /// One character before the letters that is not a letter, a digit or a line end. Line ends are apart from other
    /// white space.
    Cl100k,
    /// As with `Cl100k`, and the letters are cut by case: first capital letters, then small ones. Letters without case
    /// may be in both parts. One of the parts may be missing.
    O200k,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contractions {
    None,
    /// A piece of their own, of small letters.
    Small,
    /// A piece of their own, of small or capital letters.
    Any,
    /// The end of a word.
    Endings,
}

impl Rules {
    pub(super) const fn of(pattern: Pattern) -> Self {
        let cl100k = Self::of_variant(Variant::CL100K);
        let gpt2 = Self { words: Words::Gpt2, contractions: Contractions::Small, digits: None, ..cl100k };
        let o200k = Self { words: Words::O200k, contractions: Contractions::Endings, slashes: true, ..cl100k };
        match pattern {
            Pattern::Gpt2 => gpt2,
            Pattern::Gpt2Digits => Self { digits: Some(1), digits_apart: true, ..gpt2 },
            Pattern::Cl100k(variant) => Self::of_variant(variant),
            Pattern::O200k => o200k,
            Pattern::Tekken => Self { contractions: Contractions::None, digits: Some(1), ..o200k },
            Pattern::Kimi => Self { slashes: false, han: true, ..o200k },
            Pattern::DeepSeek => Self { contractions: Contractions::None, digits_apart: true, scripts: true, ..cl100k },
        }
    }

    const fn of_variant(variant: Variant) -> Self {
        let Variant { contractions, marks, digits, digits_apart, tails } = variant;
        Self {
            words: Words::Cl100k,
            contractions: if contractions { Contractions::Any } else { Contractions::None },
            digits: Some(digits),
            digits_apart,
            marks,
            tails,
            slashes: false,
            scripts: false,
            han: false,
        }
    }

    /// What is told from other characters.
    #[inline(always)]
    pub(super) fn told(self) -> Told {
        Told {
            case: self.words == Words::O200k,
            scripts: self.scripts,
            han: self.han,
            marks: self.marks,
            // Groups are made of digits of one byte.
            wide_digits: matches!(self.digits, None | Some(1)) && !self.digits_apart,
        }
    }
}

/// What is carried over from the block before. A field named like a class is 1 if the last byte of that block is in it.
#[derive(Default)]
pub(super) struct Before {
    letter: u64,
    /// 1 if that byte is in a small letter, or in a letter without case that goes with one.
    small: u64,
    caseless: u64,
    digit: u64,
    white: u64,
    space: u64,
    line_end: u64,
    other: u64,
    script_letter: u64,
    script_sign: u64,
    /// The byte after a sign that begins a piece.
    prefix: u64,
    /// The byte after the letters of ASCII that go with a sign.
    signed: u64,
    /// The byte after the line ends that belong to punctuation.
    tail: u64,
    /// The number of digits in a piece that is not full.
    digits: u32,
    /// The bytes within a contraction, at which no piece starts.
    inner: u64,
    /// The byte after a contraction, at which a piece starts.
    opened: u64,
    /// The end of the last contraction in the text.
    contracted: usize,
}

impl Rules {
    /// The bytes of a block at which a piece starts. A text that `is_wide` has characters of several bytes, all of which are
    /// of one class.
    #[inline(always)]
    pub(super) fn starts(
        self,
        text: &str,
        base: usize,
        of: &Classes,
        next: Option<&Classes>,
        before: &mut Before,
        is_wide: bool,
    ) -> u64 {
        let is_first = |class: fn(&Classes) -> u64| next.map_or(0, |next| class(next) & 1);
        let was_letter = of.letters << 1 | before.letter;
        let was_white = of.white << 1 | before.white;
        let was_space = of.spaces << 1 | before.space;
        let was_line_end = of.line_ends << 1 | before.line_end;
        let was_other = of.others << 1 | before.other;
        let was_digit = of.digits << 1 | before.digit;
        let white_follows = of.white >> 1 | is_first(|next| next.white) << 63;
        let digit_follows = of.digits >> 1 | is_first(|next| next.digits) << 63;
        let len = (text.len() - base).min(SIZE);
        let last = if next.is_none() { 1 << (len - 1) } else { 0 };

        let white = of.white & !was_white;
        let others = of.others & !was_other & !was_space;
        let digits = match self.digits {
            None => of.digits & !was_digit & !was_space,
            Some(1) => of.digits & !of.inner,
            Some(most) => digit_groups(of.digits, was_digit, most, &mut before.digits),
        };
        // The last white space before something else belongs to it, or is a piece.
        let mut parting = of.white & !white_follows & !last;
        if is_wide {
            parting &= !(of.inner | of.leads);
            parting |= self.parting_wide(text, base, of.white & of.leads);
        }
        if self.digits_apart {
            parting &= !digit_follows;
        }
        if self.scripts && is_wide {
            let follows = |class: fn(&Classes) -> u64| class(of) >> 1 | is_first(class) << 63;
            parting &= !(follows(|of| of.script_letters) | follows(|of| of.script_signs));
        }

        let mut starts = if self.words == Words::Gpt2 {
            let letters = of.letters & !was_letter & !was_space;
            white | others | digits | letters | parting
        } else {
            let blanks = of.white & !of.line_ends;
            let mut after_line_end = blanks & was_line_end;
            // White space with a line end is a piece up to its last one.
            let mut left = after_line_end;
            while left != 0 {
                let at = left.trailing_zeros();
                left &= left - 1;
                let run = (of.white >> at).trailing_ones();
                let is_line_end = match at + run < SIZE as u32 {
                    true => of.line_ends >> at & ((1 << run) - 1) != 0,
                    false => line_end_follows(text, base + at as usize),
                };
                if is_line_end {
                    after_line_end &= !(1 << at);
                }
            }
            // Line ends after punctuation belong to it.
            let class = match (self.tails, self.slashes) {
                (false, _) => 0,
                (true, false) => of.line_ends,
                (true, true) => of.line_ends | of.slashes,
            };
            let marks = (was_other & of.line_ends | before.tail) & class;
            // A slash goes on with line ends, and may stand before others: only the first mark of a run counts.
            let marks = if self.slashes { first_of_runs(marks, class) } else { marks };
            let ends = ends_of(marks, class);
            let tail = ends.wrapping_sub(u128::from(marks)) as u64;
            let beyond = ends as u64 | before.tail & !class;
            before.tail = (ends >> SIZE) as u64;

            // One sign that begins a piece goes with letters after it.
            let prefixes = (others & !tail) | (beyond & of.others);
            // With scripts, no sign of several bytes does.
            let behind_prefixes = match is_wide && !self.scripts {
                true => {
                    let inner = u128::from(next.map_or(0, |next| next.inner)) << SIZE | u128::from(of.inner);
                    ends_of(u128::from(prefixes) << 1, inner)
                }
                false => u128::from(prefixes) << 1,
            };
            let was_prefix = behind_prefixes as u64 | before.prefix;
            let mut letters = of.letters & !was_letter & !(was_white & !was_line_end) & !was_prefix;
            if self.scripts && is_wide {
                // Where letters of ASCII end that a sign goes with, others are another piece.
                let signed = ends_of(was_prefix & of.letters | before.signed, of.letters & !(of.leads | of.inner));
                letters |= of.letters & signed as u64;
                before.signed = (signed >> SIZE) as u64;
            }
            if self.words == Words::O200k {
                let mut small = of.letters & !(of.capitals | of.caseless);
                if is_wide {
                    let behind_small = (small << 1 | before.small) & of.caseless;
                    small |= of.caseless & !behind_small.wrapping_add(of.caseless);
                    let was_caseless = of.caseless << 1 | before.caseless;
                    letters |= self.last_capitals(text, base, of.capitals & was_caseless);
                }
                letters |= of.capitals & (small << 1 | before.small);
                before.small = small >> 63;
                before.caseless = of.caseless >> 63;
            }
            before.prefix = (behind_prefixes >> SIZE) as u64;
            let mut starts = white | others | digits | letters | parting & !of.line_ends | after_line_end;
            if (self.scripts || self.han) && is_wide {
                starts |= of.script_letters & !(of.script_letters << 1 | before.script_letter);
                starts |= of.script_signs & !(of.script_signs << 1 | before.script_sign);
                before.script_letter = of.script_letters >> 63;
                before.script_sign = of.script_signs >> 63;
            }
            (starts & !tail | beyond) & (u64::MAX >> (SIZE - len))
        };

        if self.contractions != Contractions::None {
            starts = starts & !before.inner | before.opened;
            (before.inner, before.opened) = (0, 0);
            let mut apostrophes = match self.contractions {
                Contractions::Endings => of.apostrophes & was_letter,
                _ => of.apostrophes & starts,
            };
            while apostrophes != 0 {
                let at = apostrophes.trailing_zeros() as usize;
                apostrophes &= apostrophes - 1;
                starts = self.contract(text.as_bytes(), base, at, starts, before);
            }
        }

        before.letter = of.letters >> 63;
        before.digit = of.digits >> 63;
        before.white = of.white >> 63;
        before.space = of.spaces >> 63;
        before.line_end = of.line_ends >> 63;
        before.other = of.others >> 63;
        starts
    }

    /// The same as `parting`, of white space with these first bytes.
    fn parting_wide(self, text: &str, base: usize, mut leads: u64) -> u64 {
        let mut parting = 0;
        while leads != 0 {
            let at = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            let next = text[base + at..].chars().nth(1);
            let is_apart =
                |next: char| self.digits_apart && next.is_ascii_digit() || self.scripts && is_of_script(next as usize);
            let joins = |next: char| next.is_whitespace() || is_apart(next);
            parting |= u64::from(next.is_some_and(|next| !joins(next))) << at;
        }
        parting
    }

    /// The starts, with the contraction that an apostrophe may begin.
    fn contract(self, text: &[u8], base: usize, at: usize, starts: u64, before: &mut Before) -> u64 {
        let start = base + at;
        let length = contraction(&text[start..], self.contractions == Contractions::Small);
        // After a contraction there is no word of which another could be the end.
        let is_ending = self.contractions == Contractions::Endings;
        if length == 0 || is_ending && start == before.contracted {
            return starts;
        }
        before.contracted = start + length;
        let first = if is_ending { at } else { at + 1 };
        let inner: u128 = (1 << (at + length)) - (1 << first);
        let opened: u128 = if start + length < text.len() { 1 << (at + length) } else { 0 };
        before.inner |= (inner >> SIZE) as u64;
        before.opened |= (opened >> SIZE) as u64;
        starts & !(inner as u64) | opened as u64
    }

    /// Of the capital letters at these bytes those with which only others follow up to the word's end.
    fn last_capitals(self, text: &str, base: usize, mut capitals: u64) -> u64 {
        let mut last = 0;
        while capitals != 0 {
            let at = capitals.trailing_zeros() as usize;
            capitals &= capitals - 1;
            let mut behind = text[base + at..].chars().map(|c| c as usize).skip_while(|c| kind_of(*c) == Kind::Capital);
            let goes_on = |c: usize| matches!(kind_of(c), Kind::Small | Kind::Letter) && !(self.han && is_han(c));
            last |= u64::from(!behind.next().is_some_and(goes_on)) << at;
        }
        last
    }
}

/// Whether white space from here on has a line end.
fn line_end_follows(text: &str, at: usize) -> bool {
    let is_line_end = |c: char| matches!(c, '\r' | '\n');
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0B | 0x0C);
    let blanks = text.as_bytes()[at..].iter().take_while(|byte| is_blank(byte)).count();
    let mut rest = text[at + blanks..].chars();
    rest.find(|c| !c.is_whitespace() || is_line_end(*c)).is_some_and(is_line_end)
}

/// How long the contraction is with which a text begins.
fn contraction(text: &[u8], is_small: bool) -> usize {
    let letter = |at: usize| text.get(at).map_or(0, |byte| if is_small { *byte } else { byte.to_ascii_lowercase() });
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r', b'e') | (b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}
