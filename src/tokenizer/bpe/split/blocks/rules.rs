//! At which bytes a piece starts, by each pattern.

use crate::tokenizer::bpe::split::blocks::before::{Before, Was};
use crate::tokenizer::bpe::split::blocks::bits::{digit_groups, ends_of, first_of_runs};
use crate::tokenizer::bpe::split::blocks::block::Block;
use crate::tokenizer::bpe::split::blocks::classes::{Classes, Told};
use crate::tokenizer::bpe::split::blocks::kinds::{Kind, is_han, is_of_script, kind_of};
use crate::tokenizer::bpe::split::blocks::simd::SIZE;
use crate::tokenizer::bpe::split::pattern::Pattern;
use crate::tokenizer::bpe::split::variant::{ANY_NUMBER, Variant};

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
    /// Whether the white space that ends a text is one piece.
    trailing_space: bool,
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
        let Variant { contractions, marks, digits, digits_apart, tails, trailing_space } = variant;
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
            trailing_space,
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
            wide_digits: matches!(self.digits, None | Some(1 | ANY_NUMBER)) && !self.digits_apart,
        }
    }

    /// The bytes of a block at which a piece starts.
    #[inline(always)]
    pub(super) fn starts(self, block: Block<'_>, before: &mut Before) -> u64 {
        let of = block.of;
        let was = before.shifted(of);
        let white = of.white & !was.white;
        let others = of.others & !was.other & !was.space;
        let digits = match self.digits {
            None => of.digits & !was.digit & !was.space,
            Some(1) => of.digits & !of.inner,
            Some(ANY_NUMBER) => of.digits & !was.digit,
            Some(most) => digit_groups(of.digits, was.digit, most, &mut before.digits),
        };
        let parting = self.parting(block);
        let mut starts = if self.words == Words::Gpt2 {
            let letters = of.letters & !was.letter & !was.space;
            white | others | digits | letters | parting
        } else {
            let after_line_end = block.after_line_ends(was.line_end);
            let (tail, beyond) = self.tails(of, was, before);
            // One sign that begins a piece goes with letters after it.
            let prefixes = (others & !tail) | (beyond & of.others);
            let letters = self.letters(block, was, prefixes, before);
            let mut starts = white | others | digits | letters | parting & !of.line_ends | after_line_end;
            if (self.scripts || self.han) && block.is_wide {
                starts |= of.script_letters & !(of.script_letters << 1 | before.script_letter);
                starts |= of.script_signs & !(of.script_signs << 1 | before.script_sign);
                before.script_letter = of.script_letters >> 63;
                before.script_sign = of.script_signs >> 63;
            }
            (starts & !tail | beyond) & (u64::MAX >> (SIZE - block.len()))
        };
        if self.contractions != Contractions::None {
            starts = self.with_contractions(block, was, starts, before);
        }
        before.carry(of);
        starts
    }

    /// How many pieces a text has that ends with white space, where these are all its ends.
    #[inline(always)]
    pub(super) fn with_trailing_space(self, text: &str, ends: &mut [u32]) -> usize {
        if !self.trailing_space {
            return ends.len();
        }
        let before = text.trim_end().len();
        // Line ends after punctuation belong to it.
        let others = if before == 0 { 0 } else { ends.partition_point(|end| (*end as usize) < before) + 1 };
        let Some(last) = ends.get_mut(others) else { return ends.len() };
        *last = text.len() as u32;
        others + 1
    }

    /// The last white space before something else, which belongs to it, or is a piece.
    #[inline(always)]
    fn parting(self, block: Block<'_>) -> u64 {
        let of = block.of;
        let last = if block.next.is_none() { 1 << (block.len() - 1) } else { 0 };
        let mut parting = of.white & !block.follows(|of| of.white) & !last;
        if block.is_wide {
            parting &= !(of.inner | of.leads);
            parting |= self.parting_wide(block.text, block.base, of.white & of.leads);
        }
        if self.digits_apart {
            parting &= !block.follows(|of| of.digits);
        }
        if self.scripts && block.is_wide {
            parting &= !(block.follows(|of| of.script_letters) | block.follows(|of| of.script_signs));
        }
        parting
    }

    /// The line ends after punctuation, which belong to it, and the bytes after these.
    #[inline(always)]
    fn tails(self, of: &Classes, was: Was, before: &mut Before) -> (u64, u64) {
        let class = match (self.tails, self.slashes) {
            (false, _) => 0,
            (true, false) => of.line_ends,
            (true, true) => of.line_ends | of.slashes,
        };
        let marks = (was.other & of.line_ends | before.tail) & class;
        // A slash goes on with line ends, and may stand before others: only the first mark of a run counts.
        let marks = if self.slashes { first_of_runs(marks, class) } else { marks };
        let ends = ends_of(marks, class);
        let tail = ends.wrapping_sub(u128::from(marks)) as u64;
        let beyond = ends as u64 | before.tail & !class;
        before.tail = (ends >> SIZE) as u64;
        (tail, beyond)
    }

    /// The letters at which a piece starts, where these signs before letters begin one.
    #[inline(always)]
    fn letters(self, block: Block<'_>, was: Was, prefixes: u64, before: &mut Before) -> u64 {
        let Block { of, next, is_wide, .. } = block;
        // With scripts, no sign of several bytes goes with letters.
        let behind_prefixes = match is_wide && !self.scripts {
            true => {
                let inner = u128::from(next.map_or(0, |next| next.inner)) << SIZE | u128::from(of.inner);
                ends_of(u128::from(prefixes) << 1, inner)
            }
            false => u128::from(prefixes) << 1,
        };
        let was_prefix = behind_prefixes as u64 | before.prefix;
        before.prefix = (behind_prefixes >> SIZE) as u64;
        let mut letters = of.letters & !was.letter & !(was.white & !was.line_end) & !was_prefix;
        if self.scripts && is_wide {
            // Where letters of ASCII end that a sign goes with, others are another piece.
            let signed = ends_of(was_prefix & of.letters | before.signed, of.letters & !(of.leads | of.inner));
            letters |= of.letters & signed as u64;
            before.signed = (signed >> SIZE) as u64;
        }
        match self.words == Words::O200k {
            true => letters | self.capitals(block, before),
            false => letters,
        }
    }

    /// The capital letters at which a word starts, after small letters or as the last one before some.
    #[inline(always)]
    fn capitals(self, block: Block<'_>, before: &mut Before) -> u64 {
        let of = block.of;
        let mut capitals = 0;
        let mut small = of.letters & !(of.capitals | of.caseless);
        if block.is_wide {
            let behind_small = (small << 1 | before.small) & of.caseless;
            small |= of.caseless & !behind_small.wrapping_add(of.caseless);
            let was_caseless = of.caseless << 1 | before.caseless;
            capitals = self.last_capitals(block.text, block.base, of.capitals & was_caseless);
        }
        capitals |= of.capitals & (small << 1 | before.small);
        before.small = small >> 63;
        before.caseless = of.caseless >> 63;
        capitals
    }

    /// The starts, with the contractions that apostrophes begin.
    #[inline(always)]
    fn with_contractions(self, block: Block<'_>, was: Was, starts: u64, before: &mut Before) -> u64 {
        let mut starts = starts & !before.inner | before.opened;
        (before.inner, before.opened) = (0, 0);
        let mut apostrophes = match self.contractions {
            Contractions::Endings => block.of.apostrophes & was.letter,
            _ => block.of.apostrophes & starts,
        };
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            starts = self.contract(block.text.as_bytes(), block.base, at, starts, before);
        }
        starts
    }

    /// The bits of `parting` for white space of several bytes, which begins at `leads`.
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

    /// The capital letters at these bytes that only capital letters follow, up to the word's end.
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

/// How long the contraction is with which a text begins.
fn contraction(text: &[u8], is_small: bool) -> usize {
    let letter = |at: usize| text.get(at).map_or(0, |byte| if is_small { *byte } else { byte.to_ascii_lowercase() });
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r', b'e') | (b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}
