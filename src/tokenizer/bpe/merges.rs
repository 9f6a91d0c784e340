//! The merges of a vocabulary, by pair of tokens.

use crate::tokenizer::TokenId;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// The rank of a pair that does not merge.
pub(super) const NEVER: u32 = u32::MAX;

/// Pairs of tokens below this are looked up in a square. In byte-level vocabularies they are the bytes and what is merged
/// most.
const SQUARE: u32 = 512;
/// So many bits of a slot are the rank of a pair, and so many the id of each of its two tokens.
const RANK_BITS: u32 = 26;
const ID_BITS: u32 = 19;

/// The merges, by pair.
///
/// A rank is an id, and the number of the merge among those that make that token: a merge then tells its token without
/// another look into memory. That is so if later merges have later tokens. Otherwise it is the number of the merge.
pub(crate) struct Merges {
    /// By rank, the token that a pair merges to; none if ranks tell it.
    tokens: Vec<TokenId>,
    /// So many bits of a rank follow the id.
    number_bits: u32,
    /// The ranks of pairs of low ids.
    square: Vec<u32>,
    /// The other pairs, each with its rank. A power of two.
    slots: Vec<u64>,
    /// How far a hash is shifted to be the number of a slot.
    shift: u32,
}

const EMPTY: u64 = u64::MAX;

impl Merges {
    /// From pairs and what they merge to, the first to be merged first. Of two for one pair the last one counts, as in
    /// the library. None if there are too many.
    pub(crate) fn new(all: &[[TokenId; 3]]) -> Option<Self> {
        let is_large = |id: &TokenId| id >> ID_BITS != 0;
        if all.len() >> RANK_BITS != 0 || all.iter().any(|[left, right, _]| is_large(left) || is_large(right)) {
            return None;
        }
        let size = (all.len() + all.len() / 2).next_power_of_two().max(16);
        let mut this = Self {
            tokens: Vec::new(),
            number_bits: 0,
            square: vec![NEVER; (SQUARE * SQUARE) as usize],
            slots: vec![EMPTY; size],
            shift: 64 - size.trailing_zeros(),
        };
        let ranks = ranks_with_tokens(all).unwrap_or_else(|| {
            this.tokens = all.iter().map(|[.., token]| *token).collect();
            ((0..).take(all.len()).collect(), 0)
        });
        this.number_bits = ranks.1;
        for (rank, [left, right, _]) in ranks.0.into_iter().zip(all) {
            if let Some(slot) = in_square(*left, *right) {
                this.square[slot] = rank;
            } else {
                let slot = this.slot(pair(*left, *right));
                this.slots[slot] = pair(*left, *right) << RANK_BITS | u64::from(rank);
            }
        }
        Some(this)
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u32s(&self.tokens);
        blocks.u32s(&[self.number_bits]);
        blocks.u32s(&self.square);
        blocks.u64s(&self.slots);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (tokens, numbers, square, slots) = (blocks.u32s()?, blocks.u32s()?, blocks.u32s()?, blocks.u64s()?);
        let &[number_bits] = numbers.as_slice() else { return None };
        let is_whole =
            square.len() == (SQUARE * SQUARE) as usize && slots.len().is_power_of_two() && slots.len() > tokens.len();
        is_whole.then(|| Self { tokens, number_bits, square, shift: 64 - slots.len().trailing_zeros(), slots })
    }

    /// Whether ranks tell tokens.
    #[cfg(test)]
    pub(super) fn rank_has_token(&self) -> bool {
        self.tokens.is_empty()
    }

    /// All pairs with their ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TokenId, TokenId, u32)> {
        let low = (0..).zip(&self.square).filter(|(_, rank)| **rank != NEVER);
        let low = low.map(|(place, rank): (u32, _)| (place / SQUARE, place % SQUARE, *rank));
        let id = |number: u64| number as TokenId & ((1 << ID_BITS) - 1);
        let high = self.slots.iter().filter(|entry| **entry != EMPTY);
        low.chain(high.map(move |entry| {
            let pair = entry >> RANK_BITS;
            (id(pair >> ID_BITS), id(pair), *entry as u32 & ((1 << RANK_BITS) - 1))
        }))
    }

    /// The slot of a pair, or an empty one.
    #[inline]
    fn slot(&self, pair: u64) -> usize {
        let mut slot = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        while self.slots[slot] >> RANK_BITS != pair && self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// The token that a pair of this rank merges to.
    #[inline]
    pub(crate) fn token(&self, rank: u32) -> TokenId {
        match self.tokens.get(rank as usize) {
            Some(token) => *token,
            None => rank >> self.number_bits,
        }
    }

    /// The rank of a pair, or [`NEVER`] if it does not merge.
    #[inline]
    pub(crate) fn rank(&self, left: TokenId, right: TokenId) -> u32 {
        if let Some(slot) = in_square(left, right) {
            return self.square[slot];
        }
        match self.slots[self.slot(pair(left, right))] {
            EMPTY => NEVER,
            entry => entry as u32 & ((1 << RANK_BITS) - 1),
        }
    }
}

/// A rank for each merge, and how many of its bits follow the token. None if a token comes after a higher one, or is too high.
fn ranks_with_tokens(all: &[[TokenId; 3]]) -> Option<(Vec<u32>, u32)> {
    let highest = all.last().map_or(0, |[.., token]| *token);
    let bits = RANK_BITS.checked_sub(TokenId::BITS - highest.leading_zeros())?;
    let mut last = (0, 0);
    let ranks = all.iter().map(|[.., token]| {
        let number = if *token == last.0 { last.1 + 1 } else { 0 };
        // The highest rank of all is kept out: with all its bits set, an entry would look like an empty slot.
        let fits = *token >= last.0 && number + 1 < 1 << bits;
        last = (*token, number);
        fits.then_some(token << bits | number)
    });
    Some((ranks.collect::<Option<_>>()?, bits))
}

#[inline]
fn pair(left: TokenId, right: TokenId) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

#[inline]
fn in_square(left: TokenId, right: TokenId) -> Option<usize> {
    (left < SQUARE && right < SQUARE).then_some((left * SQUARE + right) as usize)
}
