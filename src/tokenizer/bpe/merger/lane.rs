//! A piece of a few symbols that is merged step by step.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merges, NEVER, NOBODY, Pair, Place, RANK_BITS};

/// So many symbols have room, with one at each end that is nobody's.
const ROOM: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 6;
/// The most symbols of a piece: with more, looking through all of them for each merge would take a time that grows with
/// the square.
pub(super) const MOST: usize = ROOM - 2;

/// The places before and after each.
const BEFORE: [u8; ROOM] = {
    let (mut before, mut at) = ([0; ROOM], 1);
    while at < ROOM {
        before[at] = at as u8 - 1;
        at += 1;
    }
    before
};
const AFTER: [u8; ROOM] = {
    let (mut after, mut at) = ([0; ROOM], 0);
    while at < ROOM {
        after[at] = at as u8 + 1;
        at += 1;
    }
    after
};

/// Symbols stay where they are: one that is merged into the one before is skipped. Nothing is asked of where a symbol
/// stands, because at the ends there is one that merges with no other.
pub(super) struct Lane {
    symbols: [TokenId; ROOM],
    /// Of each symbol's pair with the next one the rank, and its place in the lower bits: the least is merged next.
    ranks: [i32; ROOM],
    before: [u8; ROOM],
    after: [u8; ROOM],
    count: usize,
    /// The left symbols of the pairs that the last merge made, and what was asked for of them.
    made: [u8; 2],
    asked: Asked,
}

/// What memory was asked for.
#[derive(Clone, Copy)]
enum Asked {
    /// That of all pairs' places.
    AllPlaces,
    Groups([Pair; 2]),
    Places([Place; 2]),
}

/// The rank of a pair that does not merge. With its place it is not lower.
const NOTHING: i32 = (NEVER << PLACE_BITS) as i32;
/// Numbers of 32 bits with a sign are compared, so many at once.
const RANKS: usize = 8;
const _: () = assert!(RANK_BITS + PLACE_BITS < i32::BITS);

impl Default for Lane {
    fn default() -> Self {
        Self {
            symbols: [NOBODY; ROOM],
            ranks: [NOTHING; ROOM],
            before: BEFORE,
            after: AFTER,
            count: 0,
            made: [0; 2],
            asked: Asked::AllPlaces,
        }
    }
}

impl Lane {
    /// Takes the symbols of a piece, and asks for the memory that tells what they merge to.
    #[inline(always)]
    pub(super) fn begin(&mut self, symbols: &[TokenId], merges: &Merges) {
        let count = symbols.len();
        self.symbols[1..=count].copy_from_slice(symbols);
        self.symbols[count + 1] = NOBODY;
        self.ranks[..wide(count)].fill(NOTHING);
        (self.before, self.after) = (BEFORE, AFTER);
        self.count = count;
        (self.made, self.asked) = ([0; 2], Asked::Places([Place::NOWHERE; 2]));
        for (at, pair) in (1..).zip(symbols.windows(2)) {
            match merges.rank_in_square(pair[0], pair[1]) {
                Some(rank) => self.ranks[at] = ranked(rank, at),
                None => {
                    self.asked = Asked::AllPlaces;
                    merges.prefetch(merges.place(Pair::new(pair[0], pair[1])));
                }
            }
        }
    }

    /// Merges one pair, or asks for what is needed for it; false if there is none.
    #[inline(always)]
    pub(super) fn go_on(&mut self, merges: &Merges) -> bool {
        let places = match self.asked {
            Asked::AllPlaces => {
                for at in 1..self.count {
                    self.ranks[at] = ranked(merges.rank(self.symbols[at], self.symbols[at + 1]), at);
                }
                [Place::NOWHERE; 2]
            }
            Asked::Groups([left, right]) => {
                let places = [merges.place(left), merges.place(right)];
                if places[0].may_merge() | places[1].may_merge() {
                    merges.prefetch(places[0]);
                    merges.prefetch(places[1]);
                    self.asked = Asked::Places(places);
                    return true;
                }
                places
            }
            Asked::Places(places) => places,
        };
        for (at, place) in self.made.into_iter().zip(places) {
            let at = usize::from(at) % ROOM;
            self.ranks[at] = ranked(merges.rank_at(place), at);
        }
        let mut least = [NOTHING; RANKS];
        for ranks in self.ranks[..wide(self.count)].as_chunks::<RANKS>().0 {
            for at in 0..RANKS {
                least[at] = least[at].min(ranks[at]);
            }
        }
        for half in [4, 2, 1] {
            for at in 0..half {
                least[at] = least[at].min(least[at + half]);
            }
        }
        let least = least[0];
        if least >= NOTHING {
            return false;
        }
        let at = least as usize % ROOM;
        let token = merges.token((least >> PLACE_BITS) as u32);
        let gone = usize::from(self.after[at]) % ROOM;
        let next = usize::from(self.after[gone]) % ROOM;
        let last = usize::from(self.before[at]) % ROOM;
        self.symbols[at] = token;
        (self.after[at], self.before[next]) = (next as u8, at as u8);
        self.ranks[gone] = NOTHING;
        self.made = [last as u8, at as u8];
        let pairs = [Pair::new(self.symbols[last], token), Pair::new(token, self.symbols[next])];
        merges.ask(pairs[0]);
        merges.ask(pairs[1]);
        self.asked = Asked::Groups(pairs);
        true
    }

    /// Writes the tokens where the symbols were, and returns how many there are.
    #[inline(always)]
    pub(super) fn end(&self, tokens: &mut [TokenId]) -> usize {
        let mut at = 1;
        for (count, token) in tokens.iter_mut().enumerate() {
            if at > self.count {
                return count;
            }
            *token = self.symbols[at % ROOM];
            at = usize::from(self.after[at % ROOM]);
        }
        tokens.len()
    }
}

/// So many ranks are looked at.
#[inline(always)]
fn wide(count: usize) -> usize {
    (count + 1).next_multiple_of(RANKS).min(ROOM)
}

#[inline(always)]
fn ranked(rank: u32, at: usize) -> i32 {
    (rank << PLACE_BITS | at as u32) as i32
}
