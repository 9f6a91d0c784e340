//! What is known of a vocabulary, in tables.

use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::long_words::LongWords;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::merges::Merges;
use crate::tokenizer::bpe::split::{Cuts, Seams};
use crate::tokenizer::bpe::symbols::Symbols;
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::Words;

/// A vocabulary with its merges.
pub(crate) struct Model {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    pub(crate) symbols: Symbols,
    pub(crate) cutting: Cutting,
    pub(crate) words: Words,
    /// Empty unless it is to `ignore_merges`.
    pub(crate) long_words: LongWords,
    /// Whether a piece that is an entry is that token, whatever the merges make of it.
    pub(crate) ignore_merges: bool,
}

/// How text is cut.
pub(crate) enum Cutting {
    /// Into words, and then between characters.
    Words(Cuts, Atoms),
    /// Where no entry reaches across.
    Seams(Seams),
}

impl Model {
    /// What is known of characters of several bytes, if symbols are bytes.
    pub(crate) fn atoms(&self) -> Option<&Atoms> {
        match &self.cutting {
            Cutting::Words(_, atoms) => Some(atoms),
            Cutting::Seams(_) => None,
        }
    }
}

/// The short entries that their own text merges to, or all with `ignore_merges`. None if two are of the same text.
pub(crate) fn find_words(
    vocabulary: &Vocabulary,
    symbols: &Symbols,
    merges: &Merges,
    ignore_merges: bool,
) -> Option<Words> {
    let mut merger = Merger::default();
    let (mut words, mut bytes) = (Vec::new(), Vec::new());
    for (id, entry) in vocabulary.iter() {
        let Some(text) = symbols.text(entry, &mut bytes) else { continue };
        let key = Key::new(text.as_bytes(), 0, text.len() as u32);
        if key != Key::LONG && key != Key::EMPTY {
            words.push((key, id));
            if !ignore_merges {
                symbols.append(text, merger.symbols());
                merger.add();
            }
        }
    }
    if !ignore_merges {
        merger.merge(merges);
        let mut pieces = 0..;
        words.retain(|(_, id)| pieces.next().is_some_and(|piece| merger.tokens(piece) == [*id]));
    }
    Words::new(&words)
}
