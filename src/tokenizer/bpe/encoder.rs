//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::batch::{AT_ONCE, Batch};
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::merges::Merges;
use crate::tokenizer::bpe::split::{Pattern, Scanner, Seams, parts};
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::Words;
use crate::tokenizer::lines::Lines;

/// A vocabulary with its merges.
pub(crate) struct Encoder {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    pub(crate) symbols: Symbols,
    pub(crate) cutting: Cutting,
    pub(crate) words: Words,
    /// Whether a piece that is an entry is that token, whatever the merges make of it.
    pub(crate) ignore_merges: bool,
}

/// How text is cut.
pub(crate) enum Cutting {
    /// By a pattern, and then between characters.
    Pattern(Pattern, Atoms),
    /// Where no entry reaches across.
    Seams(Seams),
}

/// What makes encoding again cheap. One per thread, for one encoder.
#[derive(Default)]
pub(crate) struct Buffers {
    lines: Lines,
    scanner: Scanner,
    batch: Batch,
    prefixed: String,
    ends: Vec<u32>,
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { lines, scanner, batch, prefixed, ends } = buffers;
        match &self.cutting {
            Cutting::Pattern(pattern, _) => {
                lines.encode(
                    text,
                    has_prefix,
                    |next| pattern.parts_lines(next),
                    ids,
                    |line, _, ids| {
                        for part in parts(*pattern, line) {
                            batch.encode(self, part, scanner.ends(*pattern, part), ids);
                        }
                    },
                );
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

    /// What is known of characters of several bytes, if symbols are bytes.
    pub(crate) fn atoms(&self) -> Option<&Atoms> {
        match &self.cutting {
            Cutting::Pattern(_, atoms) => Some(atoms),
            Cutting::Seams(_) => None,
        }
    }

    /// The entry that a long piece is, if that is all that matters. Short ones are among the words.
    pub(crate) fn long_entry(&self, piece: &str, spelled: &mut String) -> Option<TokenId> {
        if self.ignore_merges { self.vocabulary.id(self.symbols.spelled(piece, spelled)) } else { None }
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
    let (mut entries, mut bytes) = (Vec::new(), Vec::new());
    for (id, entry) in vocabulary.iter() {
        let Some(text) = symbols.text(entry, &mut bytes) else { continue };
        let key = Key::new(text.as_bytes(), 0, text.len());
        if key != Key::LONG && key != Key::EMPTY {
            symbols.append(text, merger.symbols());
            merger.add();
            entries.push((key, id));
        }
    }
    merger.merge(merges);
    let words = (0..).zip(entries).filter(|(piece, (_, id))| ignore_merges || merger.tokens(*piece) == [*id]);
    let words = words.map(|(_, word)| word);
    Words::new(&words.collect::<Vec<_>>())
}
