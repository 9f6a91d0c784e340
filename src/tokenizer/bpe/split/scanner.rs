//! Cutting text by a pattern.

use bitcannon::{Span, classify::classify};
use serde_json::{Value, json};
use tokenizers_classic::PreTokenizerWrapper;

use crate::tokenizer::bpe::split::blocks::Blocks;
use crate::tokenizer::bpe::split::blocks::kinds::MARK;
use crate::tokenizer::bpe::split::by_library::ends_by;
use crate::tokenizer::bpe::split::older_unicode::respell;
use crate::tokenizer::bpe::split::pattern::{KIMI, Pattern};
use crate::tokenizer::bpe::split::variant::{Variant, steps};

/// A longer text is cut part by part, so that what is written of it stays near.
const LONG: usize = 4096;
/// Two characters that blocks do not know are left to others with what is between them if they are nearer than this
/// many bytes.
const NEAR: usize = 64;

/// Buffers for cutting text. What is in them is only of the last text.
#[derive(Default)]
pub(crate) struct Scanner {
    blocks: Blocks,
    any: Any,
    rest: Vec<Part>,
}

/// A part of a text.
#[derive(Clone, Copy)]
struct Part {
    end: usize,
    /// Whether blocks know all its characters.
    is_known: bool,
}

impl Scanner {
    /// Gives the parts of a text, one after the other, with the ends of their pieces.
    pub(crate) fn cut(&mut self, pattern: Pattern, text: &str, mut take: impl FnMut(&str, &[u32])) {
        for part in parted(text, |rest| first_word_from(rest, LONG)) {
            match self.blocks.ends(pattern, part) {
                Some(ends) => take(part, ends),
                None => self.cut_unknown(pattern, part, &mut take),
            }
        }
    }

    /// Gives the parts of a text that blocks could not cut as it is, with the ends of their pieces.
    #[cold]
    fn cut_unknown(&mut self, pattern: Pattern, text: &str, take: &mut impl FnMut(&str, &[u32])) {
        let Self { blocks, any, rest } = self;
        rest.clear();
        rest.extend(parts_by_what_is_known(text, |at| blocks.unknown_from(at)));
        let mut start = 0;
        for Part { end, is_known } in rest {
            let part = &text[std::mem::replace(&mut start, *end)..*end];
            if *is_known && let Some(ends) = blocks.ends(pattern, part) {
                take(part, ends);
            } else if pattern == Pattern::Gpt2Digits {
                parted(part, digit_or_what_is_before).for_each(|part| take(part, any.ends(pattern, part)));
            } else {
                take(part, any.ends(pattern, part));
            }
        }
    }
}

/// The parts of a text, by where the first character that is not known is from some byte on.
fn parts_by_what_is_known(text: &str, unknown_from: impl Fn(usize) -> Option<usize>) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == text.len() {
            return None;
        }
        let start = at;
        let Some(mut unknown) = unknown_from(start) else {
            at = text.len();
            return Some(Part { end: at, is_known: true });
        };
        if let Some(end) = last_word_before(&text[start..], unknown - start) {
            at = start + end;
            return Some(Part { end: at, is_known: true });
        }
        while let Some(next) = unknown_from(unknown + 1).filter(|next| next - unknown < NEAR) {
            unknown = next;
        }
        at = first_word_from(&text[start..], unknown - start).map_or(text.len(), |end| start + end);
        Some(Part { end: at, is_known: false })
    })
}

/// Where the last word begins before this byte, after another one. A piece always ends between a letter and a space.
fn last_word_before(text: &str, end: usize) -> Option<usize> {
    let before = &text.as_bytes()[..end];
    let at = before.windows(2).rposition(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ');
    at.map(|at| at + 1)
}

/// Where a word begins from here on. A piece always ends between a letter and a space.
fn first_word_from(text: &str, from: usize) -> Option<usize> {
    let after = text.as_bytes().get(from..)?;
    let at = after.windows(2).position(|pair| pair[0].is_ascii_alphabetic() && pair[1] == b' ');
    at.map(|at| from + at + 1)
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

/// Cuts a text whatever its characters are.
#[derive(Default)]
struct Any {
    respelled: String,
    /// With letters in place of marks.
    marked: String,
    /// The library's way of cutting by a pattern, for the ones that `bitcannon` does not know, or not exactly.
    by_library: Option<(Pattern, PreTokenizerWrapper)>,
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
        match pattern {
            Pattern::Cl100k(Variant::CL100K | Variant::QWEN | Variant::QWEN3_5) => {}
            Pattern::Cl100k(variant) => return self.ends_by_library(pattern, text, || variant.steps()),
            // Chinese digits and signs may also be of other pieces.
            Pattern::Kimi => return self.ends_by_library(pattern, text, || steps(&[KIMI])),
            _ => {}
        }
        let has_long_s = matches!(pattern, Pattern::Cl100k(_) | Pattern::O200k);
        let mut text = if respell(text, has_long_s, &mut self.respelled) { &self.respelled } else { text };
        self.tags.resize(self.tags.len().max(text.len()), 0);
        classify(text.as_bytes(), &mut self.tags);
        if pattern == Pattern::Cl100k(Variant::QWEN3_5) {
            put_letters_for_marks(text, &self.tags, &mut self.marked);
            text = &self.marked;
            classify(text.as_bytes(), &mut self.tags);
        }
        let bytes = text.as_bytes();
        let (len, blocks) = (self.tags.len(), self.tags.len().div_ceil(64));
        self.starts.resize(blocks, 0);
        self.flags.resize(blocks, 0);
        self.later.resize(2 * blocks, 0);
        self.pieces.resize(len, Span::default());
        let Self { tags, starts, flags, later, pieces, .. } = self;
        let tags = &tags[..bytes.len()];
        let count = match pattern {
            Pattern::Gpt2 | Pattern::Gpt2Digits => bitcannon::bitcannon_byte_level(bytes, tags, starts, flags, pieces),
            Pattern::Cl100k(Variant { digits: 3, .. }) => {
                bitcannon::bitcannon_cl100k(bytes, tags, starts, flags, pieces)
            }
            Pattern::Cl100k(_) => bitcannon::bitcannon_qwen(bytes, tags, starts, flags, pieces),
            Pattern::O200k => bitcannon::bitcannon_o200k(bytes, tags, starts, flags, later, pieces),
            Pattern::Tekken => bitcannon::bitcannon_tekken(bytes, tags, starts, flags, later, pieces),
            Pattern::DeepSeek => bitcannon::bitcannon_deepseek(bytes, tags, starts, pieces),
            Pattern::Kimi => unreachable!("the library cuts by it"),
        };
        self.ends.clear();
        self.ends.extend(self.pieces[..count].iter().map(|piece| piece.end));
        &self.ends
    }

    fn ends_by_library(&mut self, pattern: Pattern, text: &str, steps: impl FnOnce() -> Value) -> &[u32] {
        if self.by_library.as_ref().is_none_or(|(known, _)| *known != pattern) {
            let json = json!({"type": "Sequence", "pretokenizers": steps()});
            let library = serde_json::from_value(json).expect("these steps are well formed");
            self.by_library = Some((pattern, library));
        }
        self.ends.clear();
        if let Some((_, library)) = &self.by_library {
            self.ends.extend(ends_by(library, text).into_iter().map(|end| end as u32));
        }
        &self.ends
    }
}

/// Writes a text to `marked`, with a letter of the same length in bytes in place of each mark. `tags` gives the kind of
/// character that each byte belongs to.
fn put_letters_for_marks(text: &str, tags: &[u8], marked: &mut String) {
    marked.clear();
    marked.extend(text.char_indices().map(|(at, c)| match c.len_utf8() {
        _ if tags[at] != MARK => c,
        2 => 'ß',
        3 => 'ḁ',
        _ => '𐐨',
    }));
}
