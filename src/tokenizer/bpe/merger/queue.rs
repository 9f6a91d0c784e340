//! Merging a piece of many symbols by a queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merges, NEVER};

/// No place.
const NOWHERE: u32 = u32::MAX;
/// A symbol that was merged into the one before.
const GONE: TokenId = TokenId::MAX;

/// Buffers for a piece.
#[derive(Default)]
pub(super) struct Queue {
    /// The rank of each symbol's pair with the next one, which tells whether what is queued still holds.
    ranks: Vec<u32>,
    /// The previous and next symbol of each symbol.
    beside: Vec<(u32, u32)>,
    /// Ranks and places.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Queue {
    /// Writes the tokens where the symbols were, and returns how many there are.
    pub(super) fn merge(&mut self, symbols: &mut [TokenId], merges: &Merges) -> usize {
        let Self { ranks, beside, queue } = self;
        let len = symbols.len() as u32;
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| merges.rank(pair[0], pair[1])));
        ranks.push(NEVER);
        beside.clear();
        beside.extend((0..len).map(|at| (at.wrapping_sub(1), if at + 1 < len { at + 1 } else { NOWHERE })));
        let mut entries = std::mem::take(queue).into_vec();
        entries.clear();
        let pairs = (0..len).zip(&*ranks).filter(|(_, rank)| **rank != NEVER);
        entries.extend(pairs.map(|(at, rank)| Reverse((*rank, at))));
        *queue = BinaryHeap::from(entries);
        while let Some(Reverse((rank, at))) = queue.pop() {
            if ranks[at as usize] != rank {
                continue;
            }
            let (before, gone) = beside[at as usize];
            let after = beside[gone as usize].1;
            symbols[at as usize] = merges.token(rank);
            symbols[gone as usize] = GONE;
            ranks[gone as usize] = NEVER;
            beside[at as usize].1 = after;
            if after != NOWHERE {
                beside[after as usize].0 = at;
            }
            for (left, right) in [(before, at), (at, after)] {
                if left == NOWHERE {
                    continue;
                }
                let rank = match right {
                    NOWHERE => NEVER,
                    right => merges.rank(symbols[left as usize], symbols[right as usize]),
                };
                ranks[left as usize] = rank;
                if rank != NEVER {
                    queue.push(Reverse((rank, left)));
                }
            }
        }
        let mut count = 0;
        for at in 0..symbols.len() {
            if symbols[at] != GONE {
                symbols[count] = symbols[at];
                count += 1;
            }
        }
        count
    }
}
