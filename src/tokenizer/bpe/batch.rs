//! The tokens of the pieces of a text: of those that are known at once, of all others once there are enough of them.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::filler::Filler;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::known::{AT_ONCE, Known, NOT_KEPT, Piece};
use crate::tokenizer::bpe::missed::{Incomplete, Missed};
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::Found;

/// Pieces of the texts that are encoded, and all that came before.
#[derive(Default)]
pub(crate) struct Batch {
    known: Known,
    missed: Missed,
    /// The first of those that were missed of the run, and of the part of it that is encoded.
    run: usize,
    part: usize,
    filler: Filler,
}

/// With more pieces than this, all are merged: they are enough, and what comes again is to be found.
pub(super) const MOST_MISSED: usize = 64;

impl Batch {
    /// Begins with another run.
    pub(super) fn begin_run(&mut self) {
        (self.run, self.part) = (self.missed.len(), self.missed.len());
    }

    /// Begins with a part of the run. If its tokens are kept, none before them may move.
    pub(super) fn begin_part(&mut self, is_kept: bool) {
        self.part = if is_kept { self.missed.len() } else { self.run };
    }

    /// Ends it. If its tokens are kept, none of them is missing then.
    pub(super) fn end_part(&mut self, model: &Model, is_kept: bool, ids: &mut Vec<TokenId>) {
        if is_kept {
            self.fill_in(model, self.part, ids, &mut []);
        }
    }

    /// Appends the tokens of the pieces of a text, which end there, without those that are missing.
    pub(super) fn encode(&mut self, model: &Model, text: &str, ends: &[u32], ids: &mut Vec<TokenId>) {
        let mut start = 0;
        for ends in ends.chunks(AT_ONCE) {
            self.known.look_up(self.filler.kept.table(), text.as_bytes(), start, ends);
            match self.known.has_all() {
                true => ids.extend_from_slice(self.known.tokens()),
                false => self.encode_missed(model, text, start, ends, ids),
            }
            if self.missed.len() - self.part > MOST_MISSED {
                self.fill_in(model, self.part, ids, &mut []);
            }
            start = ends.last().copied().unwrap_or_default();
        }
    }

    /// How many pieces miss their tokens.
    pub(super) fn missed(&self) -> usize {
        self.missed.len()
    }

    /// Forgets the pieces that miss their tokens.
    pub(super) fn forget_missed(&mut self) {
        self.missed.truncate(0);
    }

    /// Appends the tokens of all pieces that are known, and asks for the memory of the others.
    #[inline(never)]
    fn encode_missed(&mut self, model: &Model, text: &str, start: u32, ends: &[u32], ids: &mut Vec<TokenId>) {
        for at in self.known.missed() {
            let Piece { key, hash, .. } = self.known.piece(at);
            if key == Key::LONG {
                self.filler.kept.prefetch_text(hash);
            }
        }
        let mut done = 0;
        for at in self.known.missed() {
            let start = if at == 0 { start } else { ends[at - 1] };
            let text = &text[start as usize..ends[at] as usize];
            let Piece { key, hash, before } = self.known.piece(at);
            let before = before as usize;
            // Most of them only have more tokens than a few, or more bytes.
            if let Some(kept) = self.find_kept(text, key, hash) {
                ids.extend_from_slice(&self.known.tokens()[done..before]);
                ids.extend_from_slice(self.filler.kept.tokens(kept));
                done = before;
                continue;
            }
            if key != Key::LONG {
                model.words.prefetch(key);
            }
            self.missed.add(ids.len() + before - done, key, hash, text);
        }
        ids.extend_from_slice(&self.known.tokens()[done..]);
    }

    /// Where a piece is that was kept.
    #[inline]
    fn find_kept(&self, text: &str, key: Key, hash: u64) -> Option<Found> {
        match (key == Key::LONG, hash) {
            (true, NOT_KEPT) => None,
            (true, hash) => self.filler.kept.find_long(text, hash),
            (false, _) => self.filler.kept.find(key),
        }
    }

    /// Fills in the tokens of the pieces that were missed, from this number on, and counts those up to these ends again.
    #[inline(never)]
    pub(super) fn fill_in(&mut self, model: &Model, from: usize, ids: &mut Vec<TokenId>, ends: &mut [Incomplete]) {
        self.filler.fill_in(model, &self.missed, from, ids, ends);
        self.missed.truncate(from);
    }
}
