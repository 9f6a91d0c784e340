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

/// So many pieces are cut before they are looked up.
const AT_ONCE: usize = 32;

/// A vocabulary with its merges.
pub(crate) struct Encoder {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    pub(crate) symbols: Symbols,
    pub(crate) seams: Seams,
    pub(crate) words: Words,
}

/// What makes encoding again cheap. One per thread, for one encoder.
pub(crate) struct Buffers {
    pieces: PieceCache,
    /// Pieces that are long, have many tokens or are no entry.
    rare_pieces: RunCache,
    lines: Lines,
    merger: Merger,
    text: String,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            pieces: PieceCache::new(),
            rare_pieces: RunCache::new(),
            lines: Lines::default(),
            merger: Merger::default(),
            text: String::new(),
        }
    }
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let mut lines = std::mem::take(&mut buffers.lines);
        let parts = |next| self.seams.parts_lines(next);
        lines.encode(text, has_prefix, parts, ids, |line, has_prefix, ids| {
            self.encode_pieces(line, has_prefix, buffers, ids);
        });
        buffers.lines = lines;
    }

    fn encode_pieces(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let mut at = 0;
        if has_prefix && !text.is_empty() {
            at = self.seams.end(text, 0);
            let mut prefixed = std::mem::take(&mut buffers.text);
            prefixed.clear();
            prefixed.push(META_SPACE);
            prefixed.push_str(&text[..at]);
            let key = Key::new(prefixed.as_bytes(), 0, prefixed.len());
            self.encode_piece(&prefixed, key, buffers, ids);
            buffers.text = prefixed;
        }
        // Cutting and looking up by turns would make one wait for the other.
        while at < text.len() {
            let mut keys = [const { (Key::EMPTY, 0) }; AT_ONCE];
            let (first, mut count) = (at, 0);
            while at < text.len() && count < AT_ONCE {
                let end = self.seams.end(text, at);
                keys[count] = (Key::new(text.as_bytes(), at, end).unwrap_or(Key::EMPTY), end);
                (at, count) = (end, count + 1);
            }
            buffers.pieces.touch(keys[..count].iter().map(|(key, _)| *key));
            let mut start = first;
            for (key, end) in &keys[..count] {
                let key = Some(*key).filter(|key| *key != Key::EMPTY);
                self.encode_piece(&text[start..*end], key, buffers, ids);
                start = *end;
            }
        }
    }

    #[inline]
    fn encode_piece(&self, piece: &str, key: Option<Key>, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        match key {
            Some(key) if buffers.pieces.append(key, ids) => {}
            key => self.encode_new_piece(piece, key, buffers, ids),
        }
    }

    #[inline(never)]
    fn encode_new_piece(&self, piece: &str, key: Option<Key>, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let first = ids.len();
        match key.and_then(|key| self.words.get(key)) {
            Some((word, Merged::Whole)) => ids.push(word.id),
            word => {
                self.encode_rare_piece(piece, buffers, ids);
                if let Some((word, Merged::Unknown)) = word {
                    word.learn(&ids[first..]);
                }
            }
        }
        if let Some(key) = key {
            buffers.pieces.put(key, &ids[first..]);
        }
    }

    fn encode_rare_piece(&self, piece: &str, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let first = ids.len();
        match buffers.rare_pieces.get(piece, false) {
            Ok(known) => ids.extend_from_slice(known),
            Err(place) => {
                self.merge(piece, buffers, ids);
                if let Some(place) = place {
                    buffers.rare_pieces.put(place, piece, false, &ids[first..]);
                }
            }
        }
    }

    fn merge(&self, piece: &str, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let merger = &mut buffers.merger;
        merger.symbols.clear();
        self.symbols.append(piece, &mut merger.symbols);
        merger.merge(&self.merges);
        ids.extend_from_slice(&merger.symbols);
    }
}
