//! The long entries of a vocabulary in which a piece that is an entry is that token, whatever the merges make of it.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::symbols::Symbols;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::compiled::{BlockReader, BlockWriter};

/// Their ids by their texts. Short ones are among the words.
#[derive(Default)]
pub(crate) struct LongWords(HashMap<Box<str>, TokenId, FixedState>);

impl LongWords {
    pub(crate) fn new(vocabulary: &Vocabulary, symbols: &Symbols) -> Self {
        let mut bytes = Vec::new();
        let long = vocabulary.iter().filter_map(|(id, entry)| {
            let text = symbols.text(entry, &mut bytes)?;
            let is_long = Key::new(text.as_bytes(), 0, text.len() as u32) == Key::LONG;
            is_long.then(|| (text.into(), id))
        });
        Self(long.collect())
    }

    /// The entry that a piece is.
    #[inline]
    pub(crate) fn get(&self, piece: &str) -> Option<TokenId> {
        self.0.get(piece).copied()
    }

    /// What [`Self::read`] reads.
    pub(crate) fn write(&self, blocks: &mut BlockWriter) {
        let mut all: Vec<_> = self.0.iter().map(|(text, id)| (&**text, *id)).collect();
        all.sort_unstable();
        blocks.bytes(all.iter().map(|(text, _)| *text).collect::<String>().as_bytes());
        blocks.u32s(&all.iter().flat_map(|(text, id)| [text.len() as u32, *id]).collect::<Vec<_>>());
    }

    /// What [`Self::write`] wrote.
    pub(crate) fn read(blocks: &mut BlockReader<'_>) -> Option<Self> {
        let mut rest = str::from_utf8(blocks.bytes()?).ok()?;
        let lengths = blocks.u32s()?;
        let all = lengths.as_chunks().0.iter().map(|[length, id]| {
            let (text, behind) = rest.split_at_checked(*length as usize)?;
            rest = behind;
            Some((text.into(), *id))
        });
        all.collect::<Option<_>>().map(Self)
    }
}
