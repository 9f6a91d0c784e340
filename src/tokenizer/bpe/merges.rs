//! The merges of a vocabulary, and joining the first symbols of a piece by them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    fn token(&self, rank: u32) -> TokenId {
        match self.tokens.get(rank as usize) {
            Some(token) => *token,
            None => rank >> self.number_bits,
        }
    }

    /// The rank of a pair, or [`NEVER`] if it does not merge.
    #[inline]
    fn rank(&self, left: TokenId, right: TokenId) -> u32 {
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

/// A piece of more symbols than this is merged by a queue: looking through all of them for each merge would take a time
/// that grows with the square.
const SHORT: usize = 64;

/// Buffers for merging pieces.
#[derive(Default)]
pub(crate) struct Merger {
    /// The symbols of a piece, and then its tokens.
    pub(crate) symbols: Vec<TokenId>,
    /// For each symbol of a long piece, what it merges to with the next one.
    merged: Vec<TokenId>,
    /// For each symbol of a long piece, the one before and the one after.
    beside: Vec<(u32, u32)>,
    queue: BinaryHeap<Reverse<(u32, u32, TokenId)>>,
}

impl Merger {
    /// Merges the symbols: always the pair that comes first among the merges, and of equal ones the leftmost.
    pub(crate) fn merge(&mut self, merges: &Merges) {
        match self.symbols.len() {
            0..=1 => {}
            2..=16 => merge_short::<16>(&mut self.symbols, merges),
            17..=SHORT => merge_short::<SHORT>(&mut self.symbols, merges),
            _ => self.merge_long(merges),
        }
    }

    /// Merges a few symbols. Returns the highest rank among the merges, or 0 if there are none.
    pub(crate) fn highest_rank(&mut self, merges: &Merges) -> u32 {
        let mut highest = 0;
        loop {
            let pairs = (0..).zip(self.symbols.windows(2));
            let least = pairs.map(|(at, pair): (usize, _)| (merges.rank(pair[0], pair[1]), at)).min();
            let Some((rank, at)) = least.filter(|(rank, _)| *rank != NEVER) else { return highest };
            highest = highest.max(rank);
            self.symbols.splice(at..at + 2, [merges.token(rank)]);
        }
    }

    fn merge_long(&mut self, merges: &Merges) {
        const NOBODY: u32 = u32::MAX;
        let Self { symbols, merged, beside, queue, .. } = self;
        let len = symbols.len() as u32;
        // What a symbol merges to, which tells whether what is queued still holds.
        merged.clear();
        merged.resize(symbols.len(), TokenId::MAX);
        beside.clear();
        beside.extend((0..len).map(|at| (at.wrapping_sub(1), if at + 1 < len { at + 1 } else { NOBODY })));
        let mut entries = std::mem::take(queue).into_vec();
        entries.clear();
        for at in 0..len - 1 {
            let rank = merges.rank(symbols[at as usize], symbols[at as usize + 1]);
            if rank != NEVER {
                let token = merges.token(rank);
                merged[at as usize] = token;
                entries.push(Reverse((rank, at, token)));
            }
        }
        *queue = BinaryHeap::from(entries);
        while let Some(Reverse((_, at, token))) = queue.pop() {
            if merged[at as usize] != token {
                continue;
            }
            let next = beside[at as usize].1;
            symbols[at as usize] = token;
            symbols[next as usize] = TokenId::MAX;
            merged[next as usize] = TokenId::MAX;
            let after = beside[next as usize].1;
            beside[at as usize].1 = after;
            if after != NOBODY {
                beside[after as usize].0 = at;
            }
            let before = beside[at as usize].0;
            for (left, right) in [(before, at), (at, after)] {
                if left == NOBODY || right == NOBODY {
                    if left == at {
                        merged[at as usize] = TokenId::MAX;
                    }
                    continue;
                }
                let rank = merges.rank(symbols[left as usize], symbols[right as usize]);
                merged[left as usize] = TokenId::MAX;
                if rank != NEVER {
                    let token = merges.token(rank);
                    merged[left as usize] = token;
                    queue.push(Reverse((rank, left, token)));
                }
            }
        }
        symbols.retain(|symbol| *symbol != TokenId::MAX);
    }
}

/// Merges at most `N` symbols, which stay where they are: one that is merged into the one before is skipped.
fn merge_short<const N: usize>(symbols: &mut Vec<TokenId>, merges: &Merges) {
    let count = symbols.len();
    let mut tokens = [0; N];
    tokens[..count].copy_from_slice(symbols);
    // Of each pair the rank, and its place in the lower bits: the least is the next one to be merged.
    let mut ranks = [NEVER; N];
    let (mut before, mut after) = ([0_u8; N], [0_u8; N]);
    let ranked = |left: TokenId, right: TokenId, at: usize| match merges.rank(left, right) {
        NEVER => NEVER,
        rank => (rank * N as u32) | at as u32,
    };
    for at in 0..count {
        (before[at], after[at]) = (at.wrapping_sub(1) as u8, at as u8 + 1);
    }
    for at in 0..count - 1 {
        ranks[at] = ranked(tokens[at], tokens[at + 1], at);
    }
    loop {
        let mut least = NEVER;
        for rank in &ranks[..count - 1] {
            if *rank < least {
                least = *rank;
            }
        }
        if least == NEVER {
            break;
        }
        let at = least as usize % N;
        let next = usize::from(after[at]);
        tokens[at] = merges.token(least / N as u32);
        (ranks[at], ranks[next]) = (NEVER, NEVER);
        let end = usize::from(after[next]);
        after[at] = end as u8;
        if end < count {
            before[end] = at as u8;
            ranks[at] = ranked(tokens[at], tokens[end], at);
        }
        if at > 0 {
            let first = usize::from(before[at]);
            ranks[first] = ranked(tokens[first], tokens[at], first);
        }
    }
    symbols.clear();
    let mut at = 0;
    while at < count {
        symbols.push(tokens[at]);
        at = usize::from(after[at]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both ways of merging give what the definition says.
        #[test]
        fn merges_are_applied_in_order(
            merges in prop::collection::vec((0..12_u32, 0..12_u32), 1..40),
            symbols in prop::collection::vec(0..4_u32, 0..200),
            falls: bool,
        ) {
            // A merge makes a token of its own, from tokens that exist by then.
            let merges: Vec<[TokenId; 3]> = merges.iter().enumerate().map(|(rank, (left, right))| {
                let tokens = 4 + rank as TokenId;
                [left % tokens, right % tokens, if falls { 100 - tokens } else { tokens / 2 * 2 }]
            }).collect();
            let table = Merges::new(&merges).expect("they are few");
            prop_assert_eq!(table.tokens.is_empty(), !falls || merges.len() == 1);
            let mut expected = symbols.clone();
            loop {
                let best = (0..expected.len().saturating_sub(1))
                    .map(|at| (table.rank(expected[at], expected[at + 1]), at))
                    .filter(|(rank, _)| *rank != NEVER)
                    .min();
                let Some((rank, at)) = best else { break };
                expected.splice(at..at + 2, [table.token(rank)]);
            }
            let mut merger = Merger { symbols: symbols.clone(), ..Merger::default() };
            merger.merge(&table);
            prop_assert_eq!(&merger.symbols, &expected);
            if symbols.len() > 1 {
                merger.symbols = symbols;
                merger.merge_long(&table);
                prop_assert_eq!(&merger.symbols, &expected);
            }
        }
    }
}
