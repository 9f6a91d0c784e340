//! Cutting text of ASCII by the patterns, in numbers of 64 bits that tell something of 64 bytes at once.
//!
//! A pattern is here what it says of the bytes at which a piece begins. A class shifted by one bit is the class of the
//! byte before, and adding a mark to a class carries it to the end of its run.

use wide::i8x16;

use crate::tokenizer::bpe::split::pattern::Pattern;

const SIZE: usize = 64;
/// So many ends are written at once, whether there are as many or not.
const AT_ONCE: usize = 8;

/// How a pattern cuts.
#[derive(Clone, Copy)]
struct Rules {
    words: Words,
    contractions: Contractions,
    /// How many digits a piece has at most; none if they are like letters.
    digits: Option<u32>,
    /// Whether text before a digit ends there, and nothing is known of the digit.
    digits_apart: bool,
    /// Whether slashes belong to the line ends after punctuation.
    slashes: bool,
}

/// What stands before letters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// A space, as before digits and punctuation.
    Gpt2,
    /// Anything but letters, digits and line ends. Line ends are apart from other white space.
    Cl100k,
    /// The same, and a capital letter after a small one begins a word.
    O200k,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contractions {
    None,
    /// A piece of their own, of small letters.
    Small,
    /// The same of any letters.
    Any,
    /// The end of a word.
    Endings,
}

impl Rules {
    const fn of(pattern: Pattern) -> Self {
        let cl100k = Self {
            words: Words::Cl100k,
            contractions: Contractions::Any,
            digits: Some(3),
            digits_apart: false,
            slashes: false,
        };
        let gpt2 = Self { words: Words::Gpt2, contractions: Contractions::Small, digits: None, ..cl100k };
        let o200k = Self { words: Words::O200k, contractions: Contractions::Endings, slashes: true, ..cl100k };
        match pattern {
            Pattern::Gpt2 => gpt2,
            Pattern::Gpt2Digits => Self { digits: Some(1), digits_apart: true, ..gpt2 },
            Pattern::Cl100k => cl100k,
            Pattern::Qwen => Self { digits: Some(1), ..cl100k },
            Pattern::O200k => o200k,
            Pattern::Tekken => Self { contractions: Contractions::None, digits: Some(1), ..o200k },
            Pattern::DeepSeek => Self { contractions: Contractions::None, digits_apart: true, ..cl100k },
        }
    }
}

/// A bit for each of 64 bytes of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Classes {
    letters: u64,
    capitals: u64,
    digits: u64,
    white: u64,
    spaces: u64,
    line_ends: u64,
    apostrophes: u64,
    slashes: u64,
    /// All others, with apostrophes and slashes.
    others: u64,
}

impl Classes {
    #[inline]
    fn of(bytes: &[u8; SIZE], len: usize) -> Self {
        let mut classes = Self::default();
        for (at, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let bytes = i8x16::new(sixteen.map(|byte| byte as i8));
            let is = |byte: u8| bytes.simd_eq(i8x16::splat(byte as i8));
            let between = |bytes: i8x16, first: u8, last: u8| {
                bytes.simd_gt(i8x16::splat(first as i8 - 1)) & bytes.simd_lt(i8x16::splat(last as i8 + 1))
            };
            let add = |class: &mut u64, found: i8x16| *class |= u64::from(found.to_bitmask()) << (16 * at);
            add(&mut classes.letters, between(bytes | i8x16::splat(0x20), b'a', b'z'));
            add(&mut classes.capitals, between(bytes, b'A', b'Z'));
            add(&mut classes.digits, between(bytes, b'0', b'9'));
            let spaces = is(b' ');
            add(&mut classes.spaces, spaces);
            add(&mut classes.white, spaces | between(bytes, b'\t', b'\r'));
            add(&mut classes.line_ends, is(b'\n') | is(b'\r'));
            add(&mut classes.apostrophes, is(b'\''));
            add(&mut classes.slashes, is(b'/'));
        }
        let others = !(classes.letters | classes.digits | classes.white);
        Self { others: others & (u64::MAX >> (SIZE - len)), ..classes }
    }
}

/// What is known of the byte before, and what reaches from there.
#[derive(Default)]
struct Before {
    letter: u64,
    small: u64,
    digit: u64,
    white: u64,
    space: u64,
    line_end: u64,
    other: u64,
    /// Whether it is punctuation that begins a piece.
    prefix: u64,
    /// Whether line ends that follow belong to punctuation.
    tail: u64,
    /// How many digits a piece has that is not full.
    digits: u32,
    /// Bytes of a contraction at which nothing begins, and the one after it.
    inner: u64,
    opened: u64,
    /// The end of the last contraction in the text.
    contracted: usize,
}

/// Buffers for cutting text.
#[derive(Default)]
pub(super) struct Ascii {
    classes: Vec<Classes>,
    ends: Vec<u32>,
}

/// Whether text is cut here.
pub(super) fn is_ascii(pattern: Pattern, text: &str) -> bool {
    // Of control characters this pattern makes pieces otherwise.
    let is_known = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace() || *byte == 0x0B;
    text.is_ascii() && (pattern != Pattern::DeepSeek || text.bytes().all(|byte| is_known(&byte) && byte != 0x7F))
}

impl Ascii {
    /// The ends of the pieces of a text of ASCII.
    #[inline]
    pub(super) fn ends(&mut self, pattern: Pattern, text: &str) -> &[u32] {
        match pattern {
            Pattern::Gpt2 => self.cut(const { Rules::of(Pattern::Gpt2) }, text),
            Pattern::Gpt2Digits => self.cut(const { Rules::of(Pattern::Gpt2Digits) }, text),
            Pattern::Cl100k => self.cut(const { Rules::of(Pattern::Cl100k) }, text),
            Pattern::Qwen => self.cut(const { Rules::of(Pattern::Qwen) }, text),
            Pattern::O200k => self.cut(const { Rules::of(Pattern::O200k) }, text),
            Pattern::Tekken => self.cut(const { Rules::of(Pattern::Tekken) }, text),
            Pattern::DeepSeek => self.cut(const { Rules::of(Pattern::DeepSeek) }, text),
        }
    }

    #[inline(always)]
    fn cut(&mut self, rules: Rules, text: &str) -> &[u32] {
        let bytes = text.as_bytes();
        let (blocks, rest) = bytes.as_chunks::<SIZE>();
        self.classes.clear();
        self.classes.extend(blocks.iter().map(|block| Classes::of(block, SIZE)));
        if !rest.is_empty() {
            let mut block = [0; SIZE];
            block[..rest.len()].copy_from_slice(rest);
            self.classes.push(Classes::of(&block, rest.len()));
        }
        let most = bytes.len() + SIZE + AT_ONCE;
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        let mut before = Before::default();
        let mut count = 0;
        for (at, classes) in self.classes.iter().enumerate() {
            let next = self.classes.get(at + 1);
            let mut starts = rules.starts(bytes, at * SIZE, classes, next, &mut before);
            // Where the first piece starts, none ends.
            starts &= !u64::from(at == 0);
            let found = starts.count_ones() as usize;
            let mut written = count;
            while starts != 0 {
                for end in &mut self.ends[written..written + AT_ONCE] {
                    *end = (at * SIZE) as u32 + starts.trailing_zeros();
                    starts &= starts.wrapping_sub(1);
                }
                written += AT_ONCE;
            }
            count += found;
        }
        self.ends[count] = bytes.len() as u32;
        &self.ends[..count + usize::from(!bytes.is_empty())]
    }
}

impl Rules {
    /// The bytes of a block at which a piece starts.
    #[inline(always)]
    fn starts(self, text: &[u8], base: usize, of: &Classes, next: Option<&Classes>, before: &mut Before) -> u64 {
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
            Some(1) => of.digits,
            Some(most) => digit_groups(of.digits, was_digit, most, &mut before.digits),
        };
        // The last white space before something else belongs to it, or is a piece.
        let mut parting = of.white & !white_follows & !last;
        if self.digits_apart {
            parting &= !digit_follows;
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
                if line_end_follows(text, base + at as usize) {
                    after_line_end &= !(1 << at);
                }
            }
            // Line ends after punctuation belong to it.
            let class = if self.slashes { of.line_ends | of.slashes } else { of.line_ends };
            let marks = was_other & of.line_ends | before.tail & class;
            // A slash goes on with line ends, and may stand before others: only the first mark of a run counts.
            let marks = if self.slashes { first_of_runs(marks, class) } else { marks };
            let ends = ends_of(marks, class);
            let tail = ends.wrapping_sub(u128::from(marks)) as u64;
            let beyond = ends as u64 | before.tail & !class;
            before.tail = (ends >> SIZE) as u64;

            // One sign that begins a piece goes with letters behind it.
            let prefixes = (others & !tail) | (beyond & of.others);
            let was_prefix = prefixes << 1 | before.prefix;
            let mut letters = of.letters & !was_letter & !(was_white & !was_line_end) & !was_prefix;
            if self.words == Words::O200k {
                let was_small = (of.letters & !of.capitals) << 1 | before.small;
                letters |= of.capitals & was_small;
            }
            before.prefix = prefixes >> 63;
            let starts = white | others | digits | letters | parting & !of.line_ends | after_line_end;
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
                starts = self.contract(text, base, at, starts, before);
            }
        }

        before.letter = of.letters >> 63;
        before.small = (of.letters & !of.capitals) >> 63;
        before.digit = of.digits >> 63;
        before.white = of.white >> 63;
        before.space = of.spaces >> 63;
        before.line_end = of.line_ends >> 63;
        before.other = of.others >> 63;
        starts
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
}

/// Where groups of digits start.
#[inline]
fn digit_groups(digits: u64, was_digit: u64, most: u32, begun: &mut u32) -> u64 {
    let open = std::mem::take(begun);
    if digits == 0 {
        return 0;
    }
    let mut starts = digits & !was_digit;
    // A group that began before goes on, and the next one starts once it is full.
    let missing = if open == 0 { 0 } else { most - open };
    if was_digit & digits & 1 != 0 && (digits.trailing_ones()) > missing {
        starts |= 1 << missing;
    }
    let mut full = digits;
    for before in 1..most {
        full &= digits << before;
    }
    let mut groups = starts;
    while starts != 0 {
        starts = starts << most & full & digits;
        groups |= starts;
    }
    if digits >> 63 == 1 {
        *begun = (groups.leading_zeros() + 1) % most;
    }
    groups
}

/// The bytes behind the runs of a class in which there are marks, one in each.
#[inline]
fn ends_of(marks: u64, class: u64) -> u128 {
    (u128::from(marks) + u128::from(class)) & !u128::from(class)
}

/// Marks without those behind another one in the same run of a class.
#[inline]
fn first_of_runs(marks: u64, class: u64) -> u64 {
    let (mut first, mut left) = (0, marks);
    while left != 0 {
        let at = left.trailing_zeros();
        first |= 1 << at;
        let run = (class >> at).trailing_ones();
        left &= u64::MAX.checked_shl(at + run).unwrap_or(0);
    }
    first
}

/// Whether white space from here on has a line end.
fn line_end_follows(text: &[u8], at: usize) -> bool {
    let end = text[at..].iter().find(|byte| !matches!(byte, b' ' | b'\t' | 0x0B | 0x0C));
    end.is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
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
