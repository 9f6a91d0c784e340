//! The merges of a vocabulary, and joining the first symbols of a piece by them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::tokenizer::TokenId;

/// The rank of a pair that does not merge.
const NEVER: u32 = u32::MAX;
/// An empty slot.
const EMPTY: u32 = 0;
/// So many bits of a slot are the number of a merge and one. The others are some of its pair's hash.
const NUMBER: u32 = 21;

/// The merges, by pair.
pub(crate) struct Merges {
    /// In their order: two tokens, and the one that they merge to. Those that are used most come first, so that few lines
    /// of memory hold them.
    all: Vec<[TokenId; 3]>,
    slots: Vec<u32>,
    /// How far a hash is shifted to be the number of a slot.
    shift: u32,
}

impl Merges {
    /// From pairs and what they merge to, the first to be merged first. Of two for one pair the last one counts, as in
    /// the library. None if there are too many.
    pub(crate) fn new(all: Vec<[TokenId; 3]>) -> Option<Self> {
        if all.len() >= NUMBERS as usize {
            return None;
        }
        let size = (all.len() * 2).next_power_of_two().max(16);
        let mut this = Self { all, slots: vec![EMPTY; size], shift: 64 - size.trailing_zeros() };
        for number in 0..this.all.len() {
            let [left, right, _] = this.all[number];
            let hash = hash(left, right);
            let slot = this.find(left, right, hash).0;
            this.slots[slot] = tag(hash) | (number as u32 + 1);
        }
        Some(this)
    }

    /// The slot of a pair, and the number of its merge.
    #[inline]
    fn find(&self, left: TokenId, right: TokenId, hash: u64) -> (usize, Option<u32>) {
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let entry = self.slots[slot];
            if entry == EMPTY {
                return (slot, None);
            }
            if entry & !NUMBERS == tag(hash) {
                let number = (entry & NUMBERS) - 1;
                let [own_left, own_right, _] = self.all[number as usize];
                if (own_left, own_right) == (left, right) {
                    return (slot, Some(number));
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The rank and the token of a pair; the rank is [`NEVER`] if it does not merge.
    #[inline]
    fn get(&self, left: TokenId, right: TokenId) -> (u32, TokenId) {
        match self.find(left, right, hash(left, right)).1 {
            Some(number) => (number, self.all[number as usize][2]),
            None => (NEVER, 0),
        }
    }
}

const NUMBERS: u32 = (1 << NUMBER) - 1;

#[inline]
fn hash(left: TokenId, right: TokenId) -> u64 {
    let pair = u64::from(left) << 32 | u64::from(right);
    let product = u128::from(pair ^ 0x243F_6A88_85A3_08D3) * u128::from(0x9E37_79B9_7F4A_7C15_u64);
    product as u64 ^ (product >> 64) as u64
}

/// The bits of a hash that a slot keeps: the lower end, where slots are found by the upper end.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash as u32) << NUMBER
}

/// A piece of more symbols than this is merged by a queue: looking through all of them for each merge would take a time
/// that grows with the square.
const SHORT: usize = 64;

/// Buffers for merging pieces.
#[derive(Default)]
pub(crate) struct Merger {
    /// The symbols of a piece, and then its tokens.
    pub(crate) symbols: Vec<TokenId>,
    /// For each symbol, the rank of its merge with the next one.
    ranks: Vec<u32>,
    /// For each symbol, what it merges to with the next one.
    merged: Vec<TokenId>,
    /// For each symbol of a long piece, the one before and the one after.
    beside: Vec<(u32, u32)>,
    queue: BinaryHeap<Reverse<(u32, u32, TokenId)>>,
}

impl Merger {
    /// Merges the symbols: always the pair that comes first among the merges, and of equal ones the leftmost.
    pub(crate) fn merge(&mut self, merges: &Merges) {
        if self.symbols.len() <= SHORT { self.merge_short(merges) } else { self.merge_long(merges) }
    }

    fn merge_short(&mut self, merges: &Merges) {
        let Self { symbols, ranks, merged, .. } = self;
        ranks.clear();
        merged.clear();
        for pair in symbols.windows(2) {
            let (rank, token) = merges.get(pair[0], pair[1]);
            ranks.push(rank);
            merged.push(token);
        }
        loop {
            let (mut first, mut at) = (NEVER, 0);
            for (place, rank) in ranks.iter().enumerate() {
                if *rank < first {
                    (first, at) = (*rank, place);
                }
            }
            if first == NEVER {
                break;
            }
            symbols[at] = merged[at];
            symbols.remove(at + 1);
            ranks.remove(at);
            merged.remove(at);
            if at < ranks.len() {
                (ranks[at], merged[at]) = merges.get(symbols[at], symbols[at + 1]);
            }
            if at > 0 {
                (ranks[at - 1], merged[at - 1]) = merges.get(symbols[at - 1], symbols[at]);
            }
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
            let (rank, token) = merges.get(symbols[at as usize], symbols[at as usize + 1]);
            if rank != NEVER {
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
                let (rank, token) = merges.get(symbols[left as usize], symbols[right as usize]);
                merged[left as usize] = if rank == NEVER { TokenId::MAX } else { token };
                if rank != NEVER {
                    queue.push(Reverse((rank, left, token)));
                }
            }
        }
        symbols.retain(|symbol| *symbol != TokenId::MAX);
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
        ) {
            // A merge makes a token of its own, from tokens that exist by then.
            let merges: Vec<[TokenId; 3]> = merges.iter().enumerate().map(|(rank, (left, right))| {
                let tokens = 4 + rank as TokenId;
                [left % tokens, right % tokens, tokens]
            }).collect();
            let table = Merges::new(merges).expect("they are few");
            let mut expected = symbols.clone();
            loop {
                let best = (0..expected.len().saturating_sub(1))
                    .map(|at| (table.get(expected[at], expected[at + 1]), at))
                    .filter(|((rank, _), _)| *rank != NEVER)
                    .min_by_key(|((rank, _), at)| (*rank, *at));
                let Some(((_, token), at)) = best else { break };
                expected.splice(at..at + 2, [token]);
            }
            let mut merger = Merger { symbols: symbols.clone(), ..Merger::default() };
            merger.merge_short(&table);
            prop_assert_eq!(&merger.symbols, &expected);
            if symbols.len() > 1 {
                merger.symbols = symbols;
                merger.merge_long(&table);
                prop_assert_eq!(&merger.symbols, &expected);
            }
        }
    }
}
