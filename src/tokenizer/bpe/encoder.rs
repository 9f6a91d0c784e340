//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::batch::{Batch, MOST_MISSED};
use crate::tokenizer::bpe::known::AT_ONCE;
use crate::tokenizer::bpe::missed::Incomplete;
use crate::tokenizer::bpe::model::{Cutting, Model};
use crate::tokenizer::bpe::split::{Cuts, Scanner, Seams, SplitBuffers};
use crate::tokenizer::bpe::symbols::META_SPACE;
use crate::tokenizer::lines::{Lines, Part};

/// What makes encoding again cheap. One per thread, for one encoder.
#[derive(Default)]
pub(crate) struct Buffers {
    lines: Lines,
    scanner: Scanner,
    splits: SplitBuffers,
    batch: Batch,
    prefixed: String,
    ends: Vec<u32>,
    /// Where runs end.
    run_ends: Vec<Incomplete>,
    /// How many of them no token is missing of, up to there.
    complete: usize,
}

impl Buffers {
    /// Begins with other runs.
    pub(crate) fn begin(&mut self) {
        self.batch.forget_missed();
        self.run_ends.clear();
        self.complete = 0;
    }

    /// How many pieces miss their tokens.
    #[cfg(test)]
    pub(crate) fn missed(&self) -> usize {
        self.batch.missed()
    }

    /// How many tokens there are up to the end of each run, once all are filled in.
    pub(crate) fn run_ends(&self) -> impl Iterator<Item = usize> {
        self.run_ends.iter().map(|end| end.tokens)
    }
}

impl Model {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        buffers.begin();
        self.encode_known(text, has_prefix, buffers, ids);
        self.fill_in(buffers, ids);
    }

    /// Ends a run after these tokens.
    pub(crate) fn end_run(&self, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let missed = buffers.batch.missed();
        buffers.run_ends.push(Incomplete { tokens: ids.len(), missed });
        if missed > MOST_MISSED {
            self.fill_in(buffers, ids);
        }
    }

    /// Fills in the tokens that are missing.
    pub(crate) fn fill_in(&self, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { batch, run_ends, complete, .. } = buffers;
        batch.fill_in(self, 0, ids, &mut run_ends[*complete..]);
        *complete = run_ends.len();
    }

    /// Appends the tokens of a text, without those of words that are new: these are missing until they are filled in.
    pub(crate) fn encode_known(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { lines, scanner, splits: split, batch, prefixed, ends, .. } = buffers;
        batch.begin_run();
        match &self.cutting {
            Cutting::Words(Cuts::Pattern(pattern), _) => {
                lines.encode(
                    text,
                    has_prefix,
                    |next| pattern.parts_lines(next),
                    ids,
                    |Part { text, is_kept, .. }, ids| {
                        batch.begin_part(is_kept);
                        scanner.cut(*pattern, text, |part, ends| batch.encode(self, part, ends, ids));
                        batch.end_part(self, is_kept, ids);
                    },
                );
            }
            Cutting::Words(Cuts::Splits(splits), _) => {
                self.encode_pieces(text, 0, splits.cut(text, split).iter().copied(), ends, batch, ids);
            }
            Cutting::Seams(seams) => {
                lines.encode(
                    text,
                    has_prefix,
                    |next| seams.parts_lines(next),
                    ids,
                    |Part { text, has_prefix, is_kept }, ids| {
                        batch.begin_part(is_kept);
                        let start = match has_prefix {
                            true => self.encode_prefixed(seams, text, prefixed, batch, ids),
                            false => 0,
                        };
                        self.encode_pieces(text, start, seams.ends(text, start), ends, batch, ids);
                        batch.end_part(self, is_kept, ids);
                    },
                );
            }
        }
    }

    /// The first piece of a text, after a meta space. Returns where it ends.
    fn encode_prefixed(
        &self,
        seams: &Seams,
        text: &str,
        prefixed: &mut String,
        batch: &mut Batch,
        ids: &mut Vec<TokenId>,
    ) -> usize {
        let Some(end) = seams.ends(text, 0).next() else { return 0 };
        prefixed.clear();
        prefixed.push(META_SPACE);
        prefixed.push_str(&text[..end]);
        batch.encode(self, prefixed, &[prefixed.len() as u32], ids);
        end
    }

    /// The pieces of a text from this byte on, by where each of them ends.
    fn encode_pieces(
        &self,
        text: &str,
        mut start: usize,
        mut all: impl Iterator<Item = usize>,
        ends: &mut Vec<u32>,
        batch: &mut Batch,
        ids: &mut Vec<TokenId>,
    ) {
        loop {
            ends.clear();
            ends.extend(all.by_ref().take(AT_ONCE).map(|end| (end - start) as u32));
            let Some(&last) = ends.last() else { return };
            batch.encode(self, &text[start..], ends, ids);
            start += last as usize;
        }
    }
}
