//! What a block of text takes over from the one before.
//!
//! A class shifted by one bit is the class of the byte before.

use crate::tokenizer::bpe::split::blocks::classes::Classes;

/// What is carried over from the block before. A field named like a class is 1 if the last byte of that block is in it.
#[derive(Default)]
pub(super) struct Before {
    pub(super) letter: u64,
    /// 1 if that byte is in a small letter, or in a letter without case that goes with one.
    pub(super) small: u64,
    pub(super) caseless: u64,
    pub(super) digit: u64,
    pub(super) white: u64,
    pub(super) space: u64,
    pub(super) line_end: u64,
    pub(super) other: u64,
    pub(super) script_letter: u64,
    pub(super) script_sign: u64,
    /// The byte after a sign that begins a piece.
    pub(super) prefix: u64,
    /// The byte after the letters of ASCII that go with a sign.
    pub(super) signed: u64,
    /// The byte after the line ends that belong to punctuation.
    pub(super) tail: u64,
    /// The number of digits in a piece that is not full.
    pub(super) digits: u32,
    /// The bytes within a contraction, at which no piece starts.
    pub(super) inner: u64,
    /// The byte after a contraction, at which a piece starts.
    pub(super) opened: u64,
    /// The end of the last contraction in the text.
    pub(super) contracted: usize,
}

/// The classes of the byte before each byte.
#[derive(Clone, Copy)]
pub(super) struct Was {
    pub(super) letter: u64,
    pub(super) digit: u64,
    pub(super) white: u64,
    pub(super) space: u64,
    pub(super) line_end: u64,
    pub(super) other: u64,
}

impl Before {
    /// The classes of the byte before each byte of a block.
    #[inline(always)]
    pub(super) fn shifted(&self, of: &Classes) -> Was {
        Was {
            letter: of.letters << 1 | self.letter,
            digit: of.digits << 1 | self.digit,
            white: of.white << 1 | self.white,
            space: of.spaces << 1 | self.space,
            line_end: of.line_ends << 1 | self.line_end,
            other: of.others << 1 | self.other,
        }
    }

    /// Carries over the classes of the last byte of a block.
    #[inline(always)]
    pub(super) fn carry(&mut self, of: &Classes) {
        self.letter = of.letters >> 63;
        self.digit = of.digits >> 63;
        self.white = of.white >> 63;
        self.space = of.spaces >> 63;
        self.line_end = of.line_ends >> 63;
        self.other = of.others >> 63;
    }
}
