//! Cutting text by a pattern.

use bitcannon::{Span, classify::classify};

use crate::tokenizer::bpe::split::ascii::{Ascii, is_ascii};
use crate::tokenizer::bpe::split::older_unicode::respell;
use crate::tokenizer::bpe::split::pattern::Pattern;

/// A longer text is cut part by part, so that what is written of it stays near.
const LONG: usize = 4096;
/// So many bytes are of ASCII, or some of them are not.
const STRETCH: usize = 64;

/// Buffers for cutting text. What is in them is only of the last text.
#[derive(Default)]
pub(crate) struct Scanner {
    ascii: Ascii,
    any: Any,
}

impl Scanner {
    /// The ends of the pieces of a text, which is at most one of [`parts`].
    #[inline]
    pub(crate) fn ends(&mut self, pattern: Pattern, text: &str) -> &[u32] {
        if is_ascii(pattern, text) { self.ascii.ends(pattern, text) } else { self.any.ends(pattern, text) }
    }
}

/// The same for texts with any characters.
#[derive(Default)]
struct Any {
    respelled: String,
    /// What kind of character each byte belongs to.
    tags: Vec<u8>,
    /// A bit for each byte at which a piece begins.
    starts: Vec<u64>,
    flags: Vec<u64>,
    later: Vec<u64>,
    pieces: Vec<Span>,
    ends: Vec<u32>,
}

impl Any {
    fn ends(&mut self, pattern: Pattern, text: &str) -> &[u32] {
        let has_long_s = matches!(pattern, Pattern::Cl100k | Pattern::Qwen | Pattern::O200k);
        let text = if respell(text, has_long_s, &mut self.respelled) { &self.respelled } else { text };
        let bytes = text.as_bytes();
        self.tags.resize(self.tags.len().max(bytes.len()), 0);
        let (len, blocks) = (self.tags.len(), self.tags.len().div_ceil(64));
        self.starts.resize(blocks, 0);
        self.flags.resize(blocks, 0);
        self.later.resize(2 * blocks, 0);
        self.pieces.resize(len, Span::default());
        let Self { tags, starts, flags, later, pieces, .. } = self;
        classify(bytes, tags);
        let tags = &tags[..bytes.len()];
        let count = match pattern {
            Pattern::Gpt2 | Pattern::Gpt2Digits => bitcannon::bitcannon_byte_level(bytes, tags, starts, flags, pieces),
            Pattern::Cl100k => bitcannon::bitcannon_cl100k(bytes, tags, starts, flags, pieces),
            Pattern::Qwen => bitcannon::bitcannon_qwen(bytes, tags, starts, flags, pieces),
            Pattern::O200k => bitcannon::bitcannon_o200k(bytes, tags, starts, flags, later, pieces),
            Pattern::Tekken => bitcannon::bitcannon_tekken(bytes, tags, starts, flags, later, pieces),
            Pattern::DeepSeek => bitcannon::bitcannon_deepseek(bytes, tags, starts, pieces),
        };
        self.ends.clear();
        self.ends.extend(self.pieces[..count].iter().map(|piece| piece.end));
        &self.ends
    }
}

/// A text in parts that are cut one by one: some of ASCII alone, and others.
pub(crate) fn parts(pattern: Pattern, text: &str) -> impl Iterator<Item = &str> {
    let parts = parted(text, |rest| first_word_from(rest, LONG)).flat_map(|part| parted(part, end_of_stretch));
    parts.flat_map(move |part| {
        // Asked once: each digit is a part, and none may look at all the text behind it.
        let has_digits_apart = pattern == Pattern::Gpt2Digits && !part.is_ascii();
        parted(part, move |rest| if has_digits_apart { digit_or_what_is_before(rest) } else { None })
    })
}

/// Where a word begins from here on. A piece always ends between a letter and a space.
fn first_word_from(text: &str, from: usize) -> Option<usize> {
    let after = text.as_bytes().get(from..)?;
    let at = after.windows(2).position(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ');
    at.map(|at| from + at + 1)
}

/// Where a text begins to have other characters than ASCII, or ceases to. None if it is all the same.
fn end_of_stretch(text: &str) -> Option<usize> {
    if text.is_ascii() {
        return None;
    }
    let is_other = |stretch: &[u8]| !stretch.is_ascii();
    let stretches = || text.as_bytes().chunks(STRETCH);
    let others = stretches().position(is_other)? * STRETCH;
    let before = &text.as_bytes()[..others];
    let word = before.windows(2).rposition(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ');
    word.map(|at| at + 1).or_else(|| {
        let count = stretches().skip(others / STRETCH).position(|stretch| !is_other(stretch))?;
        first_word_from(text, others + count * STRETCH).filter(|end| *end < text.len())
    })
}

/// A text in the parts that begin it one after the other; without an end, the rest is one.
fn parted(text: &str, end: impl Fn(&str) -> Option<usize>) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, next) = rest.split_at(end(rest).unwrap_or(rest.len()));
        rest = next;
        (!part.is_empty()).then_some(part)
    })
}

fn digit_or_what_is_before(text: &str) -> Option<usize> {
    let (at, digit) = text.char_indices().find(|(_, c)| c.is_numeric())?;
    Some(if at == 0 { digit.len_utf8() } else { at })
}
