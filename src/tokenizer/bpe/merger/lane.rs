//! A piece of a few symbols that is merged step by step.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Asked, Merges, NEVER, NOBODY, RANK_BITS};

/// The number of symbols that a lane has room for, with one at each end that is nobody's.
pub(super) const ROOM: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 6;
/// The most symbols of a piece: with more, looking through all of them for each merge would take a time that grows with
/// the square.
pub(super) const MOST: usize = ROOM - 2;

/// Symbols stay where they are: one that is merged into the one before is skipped. Nothing is asked of where a symbol
/// stands, because at the ends there is one that merges with no other.
pub(super) struct Lane {
    /// The number of the piece.
    piece: usize,
    symbols: [TokenId; ROOM],
    /// A bit for each symbol that was not merged into another, the first one's the lowest.
    standing: u64,
    /// The rank of each symbol's pair with the next one, and the symbol's place in the lower bits.
    ranks: [i32; ROOM],
    /// Whether only the first [`RANKS`] of them are of this piece.
    is_short: bool,
    /// The least of them.
    least: i32,
    /// The pairs of the latest token with those beside it, which have no rank yet.
    coming: [Coming; 2],
}

/// A pair whose rank is on its way from memory, and its place.
#[derive(Clone, Copy)]
struct Coming {
    pair: Asked,
    at: usize,
}

impl Coming {
    /// At the first place, where the rank is that of nothing.
    const NOBODY: Self = Self { pair: Asked::NOBODY, at: 0 };
}

/// The rank of a pair that does not merge. With its place it is not lower.
const NOTHING: i32 = (NEVER << PLACE_BITS) as i32;
/// The number of ranks, signed numbers of 32 bits, that are compared at once: most pieces have no more symbols.
const RANKS: usize = 16;
const _: () = assert!(RANK_BITS + PLACE_BITS < i32::BITS);

impl Default for Lane {
    fn default() -> Self {
        Self {
            piece: 0,
            symbols: [NOBODY; ROOM],
            standing: 0,
            ranks: [NOTHING; ROOM],
            is_short: true,
            least: NOTHING,
            coming: [Coming::NOBODY; 2],
        }
    }
}

impl Lane {
    /// The number of the piece.
    #[inline(always)]
    pub(super) fn piece(&self) -> usize {
        self.piece
    }

    /// Takes a piece that has the first `count` of these symbols, [`MOST`] at most.
    #[inline(always)]
    pub(super) fn begin(&mut self, piece: usize, symbols: &[TokenId; ROOM], count: usize, merges: &Merges) {
        let count = count.min(MOST);
        self.piece = piece;
        // What is copied and filled has one length for most pieces, which takes no branches.
        self.symbols[1..=RANKS].copy_from_slice(&symbols[..RANKS]);
        self.ranks[..RANKS].fill(NOTHING);
        self.is_short = count < RANKS;
        if !self.is_short {
            self.symbols[1..=MOST].copy_from_slice(&symbols[..MOST]);
            self.ranks[RANKS..].fill(NOTHING);
        }
        self.symbols[count + 1] = NOBODY;
        self.standing = u64::MAX >> (MOST - count);
        for at in 1..count {
            let (left, right) = (self.symbols[at], self.symbols[at + 1]);
            let rank = match merges.rank_in_square(left, right) {
                Some(rank) => rank,
                None => merges.rank(left, right),
            };
            self.ranks[at] = ranked(rank, at);
        }
        self.least = self.least_rank_but(0);
        self.coming = [Coming::NOBODY; 2];
    }

    /// Merges one pair; false if there is none.
    #[inline(always)]
    pub(super) fn go_on(&mut self, merges: &Merges) -> bool {
        let came = self.coming.map(|Coming { pair, at }| (at, ranked(merges.answer(pair), at)));
        let least = came.iter().fold(self.least, |least, (_, rank)| least.min(*rank));
        if least >= NOTHING {
            return false;
        }
        let at = least as usize % ROOM;
        let (last, gone, next) = self.beside(at);
        let token = merges.token((least >> PLACE_BITS) as u32);
        // Other lanes go on until these ranks are there.
        let [left, right] = [merges.ask(self.symbols[last], token), merges.ask(token, self.symbols[next])];
        self.coming = [Coming { pair: left, at: last }, Coming { pair: right, at }];
        self.symbols[at] = token;
        self.standing &= !(1 << gone);
        // Ranks are written after all of them are read: the processor would wait for a number that is only just written
        // before it reads many at once.
        let old = 1 << last | 1 << at | 1 << gone;
        self.least = self.least_rank_but(old);
        for (at, rank) in came {
            self.least = self.least.min(if old >> at & 1 == 0 { rank } else { NOTHING });
            self.ranks[at] = rank;
        }
        (self.ranks[last], self.ranks[at], self.ranks[gone]) = (NOTHING, NOTHING, NOTHING);
        true
    }

    /// Asks for the memory of what the next merge needs, if it is the one that it would be without the latest token, as it mostly
    /// is.
    #[inline(always)]
    pub(super) fn look_ahead(&self, merges: &Merges) {
        let at = self.least as usize % ROOM;
        let (last, _, next) = self.beside(at);
        let token = merges.token((self.least >> PLACE_BITS) as u32);
        merges.ask(self.symbols[last], token);
        merges.ask(token, self.symbols[next]);
    }

    /// The places of the symbol before this one, of the one after it, and of that after both.
    #[inline(always)]
    fn beside(&self, at: usize) -> (usize, usize, usize) {
        let before = self.standing & !(u64::MAX << at);
        let last = before.checked_ilog2().unwrap_or_default() as usize % ROOM;
        let after = self.standing & (u64::MAX << 1 << at);
        let gone = after.trailing_zeros() as usize % ROOM;
        let next = (after & after.wrapping_sub(1)).trailing_zeros() as usize % ROOM;
        (last, gone, next)
    }

    /// The least rank, without those at the places that have a bit.
    #[inline(always)]
    fn least_rank_but(&self, places: u64) -> i32 {
        let [first, others @ ..] = self.ranks.as_chunks().0 else { return NOTHING };
        let mut least = least_but(first, places);
        if !self.is_short {
            for (ranks, first) in others.iter().zip((RANKS..).step_by(RANKS)) {
                least = least.min(least_but(ranks, places >> first));
            }
        }
        least
    }

    /// Writes the tokens where the symbols were, and returns how many there are.
    #[inline(always)]
    pub(super) fn end(&self, tokens: &mut [TokenId]) -> usize {
        let mut standing = self.standing & !1;
        let count = standing.count_ones().saturating_sub(1) as usize;
        for token in tokens.iter_mut().take(count) {
            *token = self.symbols[standing.trailing_zeros() as usize % ROOM];
            standing &= standing.wrapping_sub(1);
        }
        count
    }
}

#[inline(always)]
fn least_but(ranks: &[i32; RANKS], places: u64) -> i32 {
    let places = places as u32;
    let mut least = NOTHING;
    for (at, rank) in ranks.iter().enumerate() {
        // Without a branch, so that many are compared at once.
        let is_out = (places >> at & 1) as i32;
        least = least.min(rank | -is_out & i32::MAX);
    }
    least
}

#[inline(always)]
fn ranked(rank: u32, at: usize) -> i32 {
    (rank << PLACE_BITS | at as u32) as i32
}
