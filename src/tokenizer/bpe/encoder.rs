//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::batch::Batch;
use crate::tokenizer::bpe::known::AT_ONCE;
use crate::tokenizer::bpe::model::{Cutting, Model};
use crate::tokenizer::bpe::split::{Scanner, Seams, SplitBuffers};
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
            Cutting::Pattern(pattern, _) => {
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
            Cutting::Splits(splits, _) => {
                let mut start = 0;
                for part in splits.cut(text, split).chunks(AT_ONCE) {
                    let end = part.last().map_or(start, |end| *end);
                    ends.clear();
                    ends.extend(part.iter().map(|end| (end - start) as u32));
                    batch.encode(self, &text[start..end], ends, ids);
                    start = end;
                }
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
                        self.encode_between_seams(seams, &line[start..], ends, batch, ids);
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

    fn encode_between_seams(
        &self,
        seams: &Seams,
        mut text: &str,
        ends: &mut Vec<u32>,
        batch: &mut Batch,
        ids: &mut Vec<TokenId>,
    ) {
        while !text.is_empty() {
            ends.clear();
            ends.extend(seams.ends(text, 0).take(AT_ONCE).map(|end| end as u32));
            batch.encode(self, text, ends, ids);
            text = &text[ends.last().map_or(text.len(), |end| *end as usize)..];
        }
    }
}
