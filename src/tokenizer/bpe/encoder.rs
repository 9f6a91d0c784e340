//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merger, Merges};
use crate::tokenizer::bpe::pieces::{Key, PieceCache};
use crate::tokenizer::bpe::seams::Seams;
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::{Merged, Words};
use crate::tokenizer::lines::Lines;
use crate::tokenizer::run_cache::RunCache;

/// A vocabulary with its merges.
pub(crate) struct Encoder {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    pub(crate) symbols: Symbols,
    pub(crate) seams: Seams,
    pub(crate) words: Words,
}

/// What makes encoding again cheap. One per thread, for one encoder.
#[derive(Default)]
pub(crate) struct Buffers {
    lines: Lines,
    pieces: Pieces,
}

/// Pieces that came before, and room for merging others.
struct Pieces {
    short: PieceCache,
    /// Pieces that are long, have many tokens or are no entry.
    rare: RunCache,
    merger: Merger,
    text: String,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { short: PieceCache::new(), rare: RunCache::new(), merger: Merger::default(), text: String::new() }
    }
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { lines, pieces } = buffers;
        let parts = |next| self.seams.parts_lines(next);
        lines.encode(text, has_prefix, parts, ids, |line, has_prefix, ids| {
            self.encode_pieces(line, has_prefix, pieces, ids);
        });
    }

    fn encode_pieces(&self, text: &str, has_prefix: bool, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let mut at = 0;
        if has_prefix && !text.is_empty() {
            at = self.seams.end(text, 0);
            let mut prefixed = std::mem::take(&mut pieces.text);
            prefixed.clear();
            prefixed.push(META_SPACE);
            prefixed.push_str(&text[..at]);
            let key = Key::new(prefixed.as_bytes(), 0, prefixed.len());
            self.encode_piece(&prefixed, key, pieces, ids);
            pieces.text = prefixed;
        }
        while at < text.len() {
            let end = self.seams.end(text, at);
            self.encode_piece(&text[at..end], Key::new(text.as_bytes(), at, end), pieces, ids);
            at = end;
        }
    }

    #[inline]
    fn encode_piece(&self, piece: &str, key: Option<Key>, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        match key {
            Some(key) if pieces.short.append(key, ids) => {}
            key => self.encode_new_piece(piece, key, pieces, ids),
        }
    }

    #[inline(never)]
    fn encode_new_piece(&self, piece: &str, key: Option<Key>, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let first = ids.len();
        match key.and_then(|key| self.words.get(key)) {
            Some((word, Merged::Whole)) => ids.push(word.id),
            word => {
                self.encode_rare_piece(piece, pieces, ids);
                if let Some((word, Merged::Unknown)) = word {
                    word.learn(&ids[first..]);
                }
            }
        }
        if let Some(key) = key {
            pieces.short.put(key, &ids[first..]);
        }
    }

    fn encode_rare_piece(&self, piece: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let first = ids.len();
        match pieces.rare.get(piece, false) {
            Ok(known) => ids.extend_from_slice(known),
            Err(place) => {
                self.merge(piece, pieces, ids);
                if let Some(place) = place {
                    pieces.rare.put(place, piece, false, &ids[first..]);
                }
            }
        }
    }

    fn merge(&self, piece: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let merger = &mut pieces.merger;
        merger.symbols.clear();
        self.symbols.append(piece, &mut merger.symbols);
        merger.merge(&self.merges);
        ids.extend_from_slice(&merger.symbols);
    }
}
