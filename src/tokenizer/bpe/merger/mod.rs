//! Joining the first symbols of pieces by the merges of a vocabulary, many pieces at once.

mod lane;
mod queue;

use std::ops::Range;

use lane::Lane;
use queue::Queue;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merges, NEVER};

/// The number of pieces that are merged in turn: while one waits for memory, the others go on.
const LANES: usize = 8;

/// With so few pieces, each would wait for memory after every merge, unless it looks ahead. With more, that takes longer than
/// it saves.
const FEW: usize = 4;

/// Merges pieces.
#[derive(Default)]
pub(crate) struct Merger {
    /// The symbols of all pieces, and then their tokens.
    symbols: Vec<TokenId>,
    pieces: Vec<Range<usize>>,
    lanes: [Lane; LANES],
    queue: Queue,
}

impl Merger {
    /// Forgets all pieces.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.symbols.clear();
        self.pieces.clear();
    }

    /// The symbols so far, to which those of the next piece are appended.
    #[inline]
    pub(crate) fn symbols(&mut self) -> &mut Vec<TokenId> {
        &mut self.symbols
    }

    fn start_of_next(&self) -> usize {
        self.pieces.last().map_or(0, |last| last.end)
    }

    /// The symbols that were appended since a piece was added.
    #[inline]
    pub(crate) fn next_piece(&self) -> &[TokenId] {
        &self.symbols[self.start_of_next()..]
    }

    /// Takes them back.
    #[inline]
    pub(crate) fn forget_next(&mut self) {
        self.symbols.truncate(self.start_of_next());
    }

    /// Adds them as a piece, and returns its number.
    #[inline]
    pub(crate) fn add(&mut self) -> usize {
        self.pieces.push(self.start_of_next()..self.symbols.len());
        self.pieces.len() - 1
    }

    /// Does not merge a piece.
    #[inline]
    pub(crate) fn forget(&mut self, piece: usize) {
        let piece = &mut self.pieces[piece];
        piece.end = piece.start;
    }

    /// The tokens of all pieces and some more, once they are merged. No piece may be added then.
    #[inline]
    pub(crate) fn all(&self) -> &[TokenId] {
        &self.symbols
    }

    /// Where the tokens of a piece are among them.
    #[inline]
    pub(crate) fn piece(&self, piece: usize) -> Range<usize> {
        self.pieces[piece].clone()
    }

    /// The tokens of a piece.
    pub(crate) fn tokens(&self, piece: usize) -> &[TokenId] {
        &self.all()[self.piece(piece)]
    }

    /// Merges each piece: always the pair that comes first among the merges, and of equal ones the leftmost.
    pub(crate) fn merge(&mut self, merges: &Merges) {
        pulp::Arch::new().dispatch(Merge { merger: self, merges });
    }

    #[inline(always)]
    fn merge_all(&mut self, merges: &Merges) {
        let Self { symbols, pieces, lanes, queue } = self;
        // Lanes read as many symbols as they have room for.
        symbols.resize(symbols.len() + lane::ROOM, 0);
        let mut lanes = lanes.each_mut();
        // The first lanes are taken.
        let mut taken = 0;
        let mut waiting = 0;
        loop {
            while taken < LANES
                && let Some(piece) = pieces.get_mut(waiting)
            {
                match piece.len() {
                    0..=1 => {}
                    count @ 2..=lane::MOST => {
                        let symbols = symbols[piece.start..].first_chunk().expect("there is room after the last one");
                        lanes[taken].begin(waiting, symbols, count, merges);
                        taken += 1;
                    }
                    _ => piece.end = piece.start + queue.merge(&mut symbols[piece.clone()], merges),
                }
                waiting += 1;
            }
            if taken == 0 {
                return;
            }
            let mut turn = 0;
            while turn < taken {
                let lane = &mut *lanes[turn];
                if lane.go_on(merges) {
                    if taken <= FEW {
                        lane.look_ahead(merges);
                    }
                    turn += 1;
                    continue;
                }
                let piece = &mut pieces[lane.piece()];
                piece.end = piece.start + lane.end(&mut symbols[piece.clone()]);
                taken -= 1;
                lanes.swap(turn, taken);
            }
        }
    }
}

/// Pieces to be merged, with what the processor has.
struct Merge<'a> {
    merger: &'a mut Merger,
    merges: &'a Merges,
}

impl pulp::NullaryFnOnce for Merge<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.merger.merge_all(self.merges);
    }
}

/// Merges symbols by the definition, slowly. Returns the highest rank among the merges, or 0 if there are none.
pub(crate) fn merge_by_definition(symbols: &mut Vec<TokenId>, merges: &Merges) -> u32 {
    let mut highest = 0;
    loop {
        let pairs = (0..).zip(symbols.windows(2));
        let least = pairs.map(|(at, pair): (usize, _)| (merges.rank(pair[0], pair[1]), at)).min();
        let Some((rank, at)) = least.filter(|(rank, _)| *rank != NEVER) else { return highest };
        highest = highest.max(rank);
        symbols.splice(at..at + 2, [merges.token(rank)]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// All ways of merging give what the definition says, whatever else is merged.
        #[test]
        fn merges_are_applied_in_order(
            merges in prop::collection::vec((0..12_u32, 0..12_u32), 1..40),
            pieces in prop::collection::vec(prop::collection::vec(0..4_u32, 0..100), 0..20),
            falls: bool,
        ) {
            // A merge makes a token of its own, from tokens that exist by then.
            let merges: Vec<[TokenId; 3]> = merges.iter().enumerate().map(|(rank, (left, right))| {
                let tokens = 4 + rank as TokenId;
                [left % tokens, right % tokens, if falls { 100 - tokens } else { tokens / 2 * 2 }]
            }).collect();
            let table = Merges::new(&merges).expect("they are few");
            prop_assert_eq!(table.rank_has_token(), !falls || merges.len() == 1);
            let mut merger = Merger::default();
            for (number, piece) in pieces.iter().enumerate() {
                merger.symbols().extend(piece);
                prop_assert_eq!(merger.add(), number);
            }
            merger.merge(&table);
            for (number, piece) in pieces.iter().enumerate() {
                let mut expected = piece.clone();
                merge_by_definition(&mut expected, &table);
                prop_assert_eq!(merger.tokens(number), &expected);
                let mut queued = piece.clone();
                let count = Queue::default().merge(&mut queued, &table);
                prop_assert_eq!(&queued[..count], &expected);
            }
        }
    }
}
