//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::batch::Batch;
use crate::tokenizer::bpe::known::AT_ONCE;
use crate::tokenizer::bpe::model::{Cutting, Model};
use crate::tokenizer::bpe::split::{Cuts, Scanner, Seams, SplitBuffers};
use crate::tokenizer::bpe::symbols::META_SPACE;
use crate::tokenizer::lines::Lines;

/// What makes encoding again cheap. One per thread, for one encoder.
#[derive(Default)]
pub(crate) struct Buffers {
    lines: Lines,
    scanner: Scanner,
    splits: SplitBuffers,
    batch: Batch,
    prefixed: String,
    ends: Vec<u32>,
}

impl Model {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { lines, scanner, splits: split, batch, prefixed, ends } = buffers;
        match &self.cutting {
            Cutting::Words(Cuts::Pattern(pattern), _) => {
                lines.encode(
                    text,
                    has_prefix,
                    |next| pattern.parts_lines(next),
                    ids,
                    |line, _, ids| {
                        scanner.cut(*pattern, line, |part, ends| batch.encode(self, part, ends, ids));
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
                    |line, has_prefix, ids| {
                        let start = match has_prefix {
                            true => self.encode_prefixed(seams, line, prefixed, batch, ids),
                            false => 0,
                        };
                        self.encode_pieces(line, start, seams.ends(line, start), ends, batch, ids);
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
