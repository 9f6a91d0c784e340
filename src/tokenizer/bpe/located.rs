//! Tokens with the bytes that they come from, for text that a normalizer may change.

use std::ops::Range;

use tokenizers_classic::normalizer::Range as Referential;
use tokenizers_classic::{NormalizedString, Normalizer as _, NormalizerWrapper};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::tokenizer::backend::IdWithBytes;
use crate::tokenizer::bpe::encoder::Buffers;
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::classic::Aligned;
use crate::tokenizer::run::{Chunk, Steps};

/// The steps for one run, with a vocabulary of bytes.
pub(super) struct LocatedPass<'a> {
    pub(super) model: &'a Model,
    pub(super) normalizer: &'a NormalizerWrapper,
}

/// The tokens of a run, and what makes them.
#[derive(Default)]
pub(super) struct Located {
    pub(super) tokens: Vec<IdWithBytes>,
    ids: Vec<TokenId>,
    buffers: Buffers,
}

impl Steps for LocatedPass<'_> {
    type Normalized<'t> = Aligned;
    type Output = Located;

    fn normalize(&self, chunk: &Chunk<'_>) -> Result<Aligned> {
        let mut text = NormalizedString::from([chunk.left, chunk.text, chunk.right].concat());
        self.normalizer.normalize(&mut text).map_err(|error| ErrorKind::Encode(error.to_string()))?;
        Ok(Aligned(text))
    }

    fn encode(&self, chunk: &Chunk<'_>, normalized: &Aligned, part: Range<usize>, out: &mut Located) -> Result<()> {
        let Located { tokens, ids, buffers } = out;
        ids.clear();
        self.model.encode(&normalized.as_ref()[part.clone()], false, buffers, ids);
        let mut end = part.start;
        tokens.extend(ids.iter().map(|id| {
            let start = end;
            // Each character of an entry stands for a byte.
            end += self.model.vocabulary.entry(*id).map_or(0, |entry| entry.chars().count());
            (*id, self.bytes(chunk, normalized, start..end))
        }));
        Ok(())
    }

    fn bytes(&self, chunk: &Chunk<'_>, Aligned(normalized): &Aligned, part: Range<usize>) -> Range<usize> {
        let in_run = |at: usize| chunk.offset + at.saturating_sub(chunk.left.len()).min(chunk.text.len());
        let original = normalized.convert_offsets(Referential::Normalized(part));
        original.map_or(in_run(0)..in_run(usize::MAX), |bytes| in_run(bytes.start)..in_run(bytes.end))
    }

    fn push(&self, id: TokenId, bytes: Range<usize>, out: &mut Located) {
        out.tokens.push((id, bytes));
    }
}
