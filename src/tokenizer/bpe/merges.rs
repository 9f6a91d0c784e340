//! The merges of a vocabulary, by pair of tokens.

use std::hint::select_unpredictable;

use prefetch_index::prefetch_index;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::places::{self, Places};
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// The number of bits in a slot for the rank of a pair, and for the id of each of its two tokens. One bit more tells
/// slots from those that are empty.
pub(super) const RANK_BITS: u32 = 25;
const ID_BITS: u32 = 19;
/// The rank of a pair that does not merge.
pub(super) const NEVER: u32 = (1 << RANK_BITS) - 1;

/// A token that merges with no other.
pub(super) const NOBODY: TokenId = (1 << ID_BITS) - 1;

/// The merges, by pair.
///
/// A rank is an id, and the number of the merge among those that make that token: a merge then tells its token without
/// another look into memory. That is so if later merges have later tokens. Otherwise it is the number of the merge.
pub(crate) struct Merges {
    /// By rank, the token that a pair merges to; none if ranks tell it.
    tokens: Vec<TokenId>,
    /// The number of bits of a rank that follow the id.
    number_bits: u32,
    places: Places,
    /// The pairs, each with its rank.
    slots: Vec<u64>,
    /// The lowest token that merges. In vocabularies of bytes, all bytes come after it.
    lowest: TokenId,
    /// The ranks of pairs of the tokens that follow it.
    square: Box<[u32; SQUARE]>,
}

/// A pair whose rank was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    slot: usize,
    pair: u64,
}

impl Asked {
    /// A pair that does not merge.
    pub(crate) const NOBODY: Self = Self { slot: 0, pair: pair(NOBODY, NOBODY) };
}

const EMPTY: u64 = u64::MAX;
/// The number of tokens on a side of the square.
const SIDE: TokenId = 256;
const SQUARE: usize = (SIDE * SIDE) as usize;

impl Merges {
    /// From pairs and what they merge to, the first to be merged first. Of two for one pair the last one counts, as in
    /// the library. None if there are too many.
    pub(crate) fn new(all: &[[TokenId; 3]]) -> Option<Self> {
        let is_large = |id: &TokenId| *id >= NOBODY;
        if all.len() >> RANK_BITS != 0 || all.iter().any(|[left, right, _]| is_large(left) || is_large(right)) {
            return None;
        }
        let (tokens, (ranks, number_bits)) = match ranks_with_tokens(all) {
            Some(ranks) => (Vec::new(), ranks),
            None => (all.iter().map(|[.., token]| *token).collect(), ((0..).take(all.len()).collect(), 0)),
        };
        let mut pairs: Vec<u64> = all.iter().map(|[left, right, _]| pair(*left, *right)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let places = Places::new(&pairs.into_iter().map(hash_of).collect::<Vec<_>>())?;
        if ranks.contains(&NEVER) {
            return None;
        }
        let mut slots = vec![EMPTY; places.count()];
        for (rank, [left, right, _]) in ranks.into_iter().zip(all) {
            let pair = pair(*left, *right);
            slots[places.of(hash_of(pair))] = pair << RANK_BITS | u64::from(rank);
        }
        Some(Self::with_slots(tokens, number_bits, places, slots))
    }

    fn with_slots(tokens: Vec<TokenId>, number_bits: u32, places: Places, slots: Vec<u64>) -> Self {
        let lowest = pairs(&slots).map(|(left, right, _)| left.min(right)).min().unwrap_or_default();
        // On the heap from the beginning: a thread's stack may be small.
        let mut square: Box<[u32; SQUARE]> = vec![NEVER; SQUARE].try_into().expect("it has as many");
        for (left, right, rank) in pairs(&slots) {
            if let Some(place) = place_in_square(lowest, left, right) {
                square[place] = rank;
            }
        }
        Self { tokens, number_bits, places, slots, lowest, square }
    }

    /// The rank of a pair of low tokens, as bytes are; none for others.
    #[inline(always)]
    pub(crate) fn rank_in_square(&self, left: TokenId, right: TokenId) -> Option<u32> {
        place_in_square(self.lowest, left, right).map(|place| self.square[place])
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        blocks.u32s(&self.tokens);
        blocks.u32s(&[self.number_bits]);
        self.places.write(blocks);
        blocks.u64s(&self.slots);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let (tokens, numbers) = (blocks.u32s()?, blocks.u32s()?);
        let (places, slots) = (Places::read(blocks)?, blocks.u64s()?);
        let &[number_bits] = numbers.as_slice() else { return None };
        let is_whole = slots.len() == places.count();
        is_whole.then(|| Self::with_slots(tokens, number_bits, places, slots))
    }

    /// Whether ranks tell tokens.
    #[cfg(test)]
    pub(super) fn rank_has_token(&self) -> bool {
        self.tokens.is_empty()
    }

    /// All pairs with their ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TokenId, TokenId, u32)> {
        pairs(&self.slots)
    }

    /// The rank of a pair, or [`NEVER`] if it does not merge.
    #[inline(always)]
    pub(crate) fn rank(&self, left: TokenId, right: TokenId) -> u32 {
        self.answer(self.asked(left, right))
    }

    /// Asks for the memory of a pair's rank: others can be asked for until it is there.
    #[inline(always)]
    pub(crate) fn ask(&self, left: TokenId, right: TokenId) -> Asked {
        let asked = self.asked(left, right);
        prefetch_index(&self.slots, asked.slot);
        asked
    }

    #[inline(always)]
    fn asked(&self, left: TokenId, right: TokenId) -> Asked {
        let pair = pair(left, right);
        Asked { slot: self.places.of(hash_of(pair)), pair }
    }

    /// The rank that was asked for.
    #[inline(always)]
    pub(crate) fn answer(&self, Asked { slot, pair }: Asked) -> u32 {
        let rank = self.slots[slot] ^ pair << RANK_BITS;
        select_unpredictable(rank >> RANK_BITS == 0, rank as u32, NEVER)
    }

    /// The token that a pair of this rank merges to.
    #[inline(always)]
    pub(crate) fn token(&self, rank: u32) -> TokenId {
        match self.tokens.get(rank as usize) {
            Some(token) => *token,
            None => rank >> self.number_bits,
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
        let fits = *token >= last.0 && number < 1 << bits;
        last = (*token, number);
        fits.then_some(token << bits | number)
    });
    Some((ranks.collect::<Option<_>>()?, bits))
}

/// The pairs in these slots, with their ranks.
fn pairs(slots: &[u64]) -> impl Iterator<Item = (TokenId, TokenId, u32)> {
    let id = |number: u64| number as TokenId & ((1 << ID_BITS) - 1);
    slots.iter().filter(|slot| **slot != EMPTY).map(move |slot| {
        let pair = slot >> RANK_BITS;
        (id(pair >> ID_BITS), id(pair), *slot as u32 & NEVER)
    })
}

/// Where a pair is in the square of the tokens from the lowest one on.
#[inline(always)]
fn place_in_square(lowest: TokenId, left: TokenId, right: TokenId) -> Option<usize> {
    let (left, right) = (left.wrapping_sub(lowest), right.wrapping_sub(lowest));
    (left | right < SIDE).then_some((left << SIDE.ilog2() | right) as usize % SQUARE)
}

#[inline(always)]
const fn pair(left: TokenId, right: TokenId) -> u64 {
    (left as u64) << ID_BITS | right as u64
}

#[inline(always)]
fn hash_of(pair: u64) -> u64 {
    places::hash(pair, 0)
}
