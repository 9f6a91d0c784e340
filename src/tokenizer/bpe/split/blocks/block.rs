//! A block of text: 64 bytes, with what follows them.

use crate::tokenizer::bpe::split::blocks::classes::Classes;
use crate::tokenizer::bpe::split::blocks::simd::SIZE;

/// A block of a text.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) text: &'a str,
    /// Where it begins in the text.
    pub(super) base: usize,
    pub(super) of: &'a Classes,
    pub(super) next: Option<&'a Classes>,
    /// Whether the text has characters of several bytes, all of which are of one class.
    pub(super) is_wide: bool,
}

impl Block<'_> {
    /// A class of the byte after each byte.
    #[inline(always)]
    pub(super) fn follows(&self, class: fn(&Classes) -> u64) -> u64 {
        class(self.of) >> 1 | self.next.map_or(0, |next| class(next) & 1) << 63
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.text.len() - self.base).min(SIZE)
    }

    /// The blanks after line ends, without those that belong to the same piece because another line end follows.
    #[inline(always)]
    pub(super) fn after_line_ends(&self, was_line_end: u64) -> u64 {
        let of = self.of;
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
                false => line_end_follows(self.text, self.base + at as usize),
            };
            if is_line_end {
                after_line_end &= !(1 << at);
            }
        }
        after_line_end
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
