//! Pieces that came before, found many at once: one by one, each would wait for memory.

use std::hash::BuildHasher;
use std::hint::select_unpredictable;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::pieces::{FEW, Table};

/// The most pieces that are found at once.
pub(crate) const AT_ONCE: usize = 1024;
/// The number of pieces that are asked for before the first of them is looked up: as many as the nearest cache has room
/// for.
const ASKED: usize = 64;
/// The number of tokens that are copied at once, whether they are needed or not: nothing then depends on how many they
/// are.
pub(crate) const COPIED: usize = 16;
/// The most tokens of pieces that are found at once; a power of two, so that staying below it takes one step.
const ROOM: usize = (AT_ONCE * FEW).next_power_of_two();
/// The first byte of characters of Chinese, Japanese and Korean, and above.
const IDEOGRAPHS: u8 = 0xE3;
/// In place of the hash of a long piece that is not kept.
pub(crate) const NOT_KEPT: u64 = 0;

/// Pieces of a text, with the tokens of those that are known.
pub(crate) struct Known {
    pieces: Box<[Piece; AT_ONCE]>,
    /// A bit for each piece that is not known, the first one's the lowest.
    missed: [u64; AT_ONCE / ASKED],
    /// The tokens of the pieces that are known, one after the other.
    tokens: Box<[TokenId; ROOM + FEW + 1]>,
    /// How many they are.
    count: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) key: Key,
    /// [`Key::quick_hash`] of a short piece, [`hash_of_long`] of a long one.
    pub(crate) hash: u64,
    /// How many known tokens come before it.
    pub(crate) before: u32,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            pieces: Box::new([Piece { key: Key::EMPTY, hash: NOT_KEPT, before: 0 }; AT_ONCE]),
            missed: [0; AT_ONCE / ASKED],
            tokens: Box::new([0; ROOM + FEW + 1]),
            count: 0,
        }
    }
}

impl Known {
    /// Finds pieces that follow one another from `start` on, in place of those before.
    pub(crate) fn look_up(&mut self, table: Table<'_>, text: &[u8], mut start: u32, ends: &[u32]) {
        let Self { pieces, missed, tokens, count } = self;
        (*count, *missed) = (0, [0; AT_ONCE / ASKED]);
        for ((pieces, ends), missed) in pieces.chunks_exact_mut(ASKED).zip(ends.chunks(ASKED)).zip(missed) {
            let pieces = &mut pieces[..ends.len()];
            start = ask(table, text, start, ends, pieces);
            (*count, *missed) = find(table, pieces, tokens, *count);
        }
    }

    /// Whether no piece was missed.
    #[inline]
    pub(crate) fn has_all(&self) -> bool {
        self.missed.iter().fold(0, |any, missed| any | missed) == 0
    }

    /// The numbers of the pieces that were missed.
    #[inline]
    pub(crate) fn missed(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        (0..).step_by(ASKED).zip(self.missed).flat_map(|(first, mut bits)| {
            std::iter::from_fn(move || {
                let at = first + bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    at
                })
            })
        })
    }

    /// The piece with this number.
    #[inline]
    pub(crate) fn piece(&self, at: usize) -> Piece {
        self.pieces[at]
    }

    /// The tokens of all pieces that are known.
    #[inline]
    pub(crate) fn tokens(&self) -> &[TokenId] {
        &self.tokens[..self.count]
    }
}

/// Copies some of these tokens after the first `len` of `to`, and returns how many there are then. There is room for [`COPIED`]
/// more in both.
#[inline]
pub(crate) fn copy(from: &[TokenId], tokens: Range<usize>, to: &mut [TokenId], len: usize) -> usize {
    for (at, start) in tokens.clone().step_by(COPIED).enumerate() {
        let len = len + at * COPIED;
        to[len..len + COPIED].copy_from_slice(&from[start..start + COPIED]);
    }
    len + tokens.len()
}

/// Makes the keys of pieces, and asks for the memory where they are kept. Returns where the last one ends.
#[inline(never)]
fn ask(table: Table<'_>, text: &[u8], mut start: u32, ends: &[u32], pieces: &mut [Piece]) -> u32 {
    for (piece, end) in pieces.iter_mut().zip(ends) {
        (piece.key, piece.hash) = match Key::of_short(text, start, *end) {
            Some(short) => (short, short.quick_hash()),
            None => (Key::LONG, hash_of_long(&text[start as usize..*end as usize])),
        };
        table.prefetch(piece.hash);
        start = *end;
    }
    start
}

/// Writes the tokens of pieces after the first `len` tokens. Returns how many there are then, and a bit for each piece
/// that is not known, the first one's the lowest.
#[inline(never)]
fn find(
    table: Table<'_>,
    pieces: &mut [Piece],
    tokens: &mut [TokenId; ROOM + FEW + 1],
    mut len: usize,
) -> (usize, u64) {
    let unused = ASKED - pieces.len();
    let mut missed: u64 = 0;
    for piece in pieces {
        let (ids, is_known) = table.get_few(piece.key, piece.hash);
        // Always the same number, so that nothing depends on how many they are.
        let at = len % ROOM;
        tokens[at..=at + FEW].copy_from_slice(ids);
        piece.before = len as u32;
        len += select_unpredictable(is_known, ids[FEW] as usize, 0);
        missed = missed << 1 | u64::from(!is_known);
    }
    (len, missed.reverse_bits() >> unused)
}

/// One of ideographs is a part of a sentence, and hardly comes again.
#[inline(never)]
fn hash_of_long(piece: &[u8]) -> u64 {
    if piece[0] >= IDEOGRAPHS { NOT_KEPT } else { FixedState::with_seed(0).hash_one(piece) }
}
