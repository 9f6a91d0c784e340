//! Joining the first symbols of a piece by the merges of a vocabulary.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merges, NEVER};

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
            prop_assert_eq!(table.rank_has_token(), !falls || merges.len() == 1);
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
