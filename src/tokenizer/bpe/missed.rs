//! Pieces of a text whose tokens are missing.

use std::ops::Range;

use crate::tokenizer::bpe::key::Key;

/// Pieces whose tokens are missing.
#[derive(Default)]
pub(super) struct Missed {
    pieces: Vec<MissedPiece>,
    /// The texts of long pieces.
    texts: String,
}

/// A piece whose tokens are missing.
pub(super) struct MissedPiece {
    /// How many tokens come before it, without those that are missing.
    pub(super) before: usize,
    pub(super) key: Key,
    pub(super) hash: u64,
    /// Where the text of a long piece is.
    pub(super) text: Range<usize>,
}

/// How many tokens there are, without those that are missing, and how many pieces miss theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Incomplete {
    pub(super) tokens: usize,
    pub(super) missed: usize,
}

impl Missed {
    /// How many pieces there are.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The pieces from this number on.
    pub(super) fn from(&self, from: usize) -> &[MissedPiece] {
        &self.pieces[from..]
    }

    /// The texts of long pieces.
    pub(super) fn texts(&self) -> &str {
        &self.texts
    }

    /// Adds a piece, before which there are this many tokens.
    #[inline]
    pub(super) fn add(&mut self, before: usize, key: Key, hash: u64, text: &str) {
        let first = self.texts.len();
        if key == Key::LONG {
            self.texts.push_str(text);
        }
        self.pieces.push(MissedPiece { before, key, hash, text: first..self.texts.len() });
    }

    /// Forgets the pieces from this number on.
    pub(super) fn truncate(&mut self, to: usize) {
        if let Some(first) = self.pieces.get(to) {
            self.texts.truncate(first.text.start);
            self.pieces.truncate(to);
        }
    }
}

impl MissedPiece {
    pub(super) fn bytes(&self) -> usize {
        if self.key == Key::LONG { self.text.len() } else { self.key.len() }
    }
}
