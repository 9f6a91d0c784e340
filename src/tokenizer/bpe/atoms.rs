//! Characters of several bytes that become one token before anything beside them is merged, and where text of them is cut.
//!
//! A byte-level vocabulary merges the bytes of a character first, if nothing else comes before it: where all merges of a
//! part of a character with what stands beside it have a higher rank than those that make the character, and so have all
//! merges of its token, it can begin as that token. Between two such characters that no entry has side by side, nothing
//! is merged: what is before and what is after are encoded one by one.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merger::merge_by_definition;
use crate::tokenizer::bpe::merges::{Merges, NEVER};
use crate::tokenizer::bpe::pairs::Pairs;
use crate::tokenizer::bpe::symbols::Symbols;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bytes::byte_of;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// What is known of a vocabulary's characters.
pub(crate) struct Atoms {
    /// By code point, below U+10000.
    atoms: Box<[Atom]>,
    /// By the last byte before a character and its first one, the lowest rank of a merge with a part of it.
    to_the_left: Ranks,
    /// By the last byte of a character and the first one after it, the same.
    to_the_right: Ranks,
    pairs: Pairs,
}

/// A character's token.
#[derive(Clone, Copy)]
struct Atom {
    id: TokenId,
    /// The highest rank among the merges that make it; [`NEVER`] if they do not, or not always.
    rank: u32,
}

/// Ranks by two bytes.
struct Ranks(Box<[u32]>);

impl Ranks {
    fn new() -> Self {
        Self(vec![NEVER; 1 << 16].into())
    }

    #[inline]
    fn place(left: u8, right: u8) -> usize {
        usize::from(left) << 8 | usize::from(right)
    }

    fn lower(&mut self, left: u8, right: u8, rank: u32) {
        let lowest = &mut self.0[Self::place(left, right)];
        *lowest = rank.min(*lowest);
    }

    #[inline]
    fn get(&self, left: u8, right: u8) -> u32 {
        self.0[Self::place(left, right)]
    }
}

impl Atoms {
    pub(crate) fn new(vocabulary: &Vocabulary, symbols: &Symbols, merges: &Merges) -> Self {
        let bytes: Vec<Vec<u8>> = (0..vocabulary.ids())
            .map(|id| vocabulary.entry(id).unwrap_or_default().chars().map_while(byte_of).collect())
            .collect();
        let (mut to_the_left, mut to_the_right) = (Ranks::new(), Ranks::new());
        let mut first_merge = vec![NEVER; bytes.len()];
        for (left, right, rank) in merges.iter() {
            for id in [left, right] {
                let lowest = &mut first_merge[id as usize];
                *lowest = rank.min(*lowest);
            }
            let (left, right) = (&bytes[left as usize], &bytes[right as usize]);
            let (Some(last), Some(first)) = (left.last(), right.first()) else { continue };
            if is_inner(*first) {
                continue;
            }
            if right.len() < length(*first) {
                to_the_left.lower(*last, *first, rank);
            }
            if left.iter().all(|byte| is_inner(*byte)) {
                to_the_right.lower(*last, *first, rank);
            }
        }
        let mut atoms: Box<[Atom]> = vec![Atom { id: 0, rank: NEVER }; 1 << 16].into();
        let mut merged = Vec::new();
        for (id, bytes) in (0..).zip(&bytes) {
            let Some(atom) = str::from_utf8(bytes).ok().and_then(only_char).and_then(|c| atoms.get_mut(c as usize))
            else {
                continue;
            };
            merged.clear();
            symbols.append_bytes(bytes, &mut merged);
            let rank = merge_by_definition(&mut merged, merges);
            if bytes.len() > 1 && merged == [id] && rank < first_merge[id as usize] {
                *atom = Atom { id, rank };
            }
        }
        let pairs = Pairs::new(bytes.iter());
        Self { atoms, to_the_left, to_the_right, pairs }
    }

    /// The token as which a character of several bytes begins, between these bytes: of the text's edge, any.
    #[inline]
    pub(crate) fn get(&self, before: u8, c: char, after: u8) -> Option<TokenId> {
        let atom = self.atoms.get(c as usize)?;
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        let is_whole = atom.rank < self.to_the_left.get(before, bytes[0])
            && atom.rank < self.to_the_right.get(bytes[bytes.len() - 1], after);
        is_whole.then_some(atom.id)
    }

    /// Whether text is cut between these characters, if both begin as one token.
    #[inline]
    pub(crate) fn parts(&self, left: char, right: char) -> bool {
        !self.pairs.may_have(left, right)
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        let atoms = (0..).zip(&self.atoms).filter(|(_, atom)| atom.rank != NEVER);
        blocks.u32s(&atoms.flat_map(|(c, atom)| [c, atom.id, atom.rank]).collect::<Vec<_>>());
        for ranks in [&self.to_the_left, &self.to_the_right] {
            let known = (0..).zip(&ranks.0).filter(|(_, rank)| **rank != NEVER);
            blocks.u32s(&known.flat_map(|(place, rank)| [place, *rank]).collect::<Vec<_>>());
        }
        self.pairs.write(blocks);
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let mut atoms: Box<[Atom]> = vec![Atom { id: 0, rank: NEVER }; 1 << 16].into();
        for [c, id, rank] in blocks.u32s()?.as_chunks().0 {
            *atoms.get_mut(*c as usize)? = Atom { id: *id, rank: *rank };
        }
        let mut ranks = || {
            let mut ranks = Ranks::new();
            for [place, rank] in blocks.u32s()?.as_chunks().0 {
                *ranks.0.get_mut(*place as usize)? = *rank;
            }
            Some(ranks)
        };
        let (to_the_left, to_the_right) = (ranks()?, ranks()?);
        Some(Self { atoms, to_the_left, to_the_right, pairs: Pairs::read(blocks)? })
    }
}

/// Whether a byte is one of a character, and not its first.
fn is_inner(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The length of a character with this first byte.
fn length(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
