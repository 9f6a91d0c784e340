//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::merges::{Merger, Merges};
use crate::tokenizer::bpe::pieces::{Key, PieceCache};
use crate::tokenizer::bpe::split::{Split, Splitter};
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::{Merged, Words};
use crate::tokenizer::bytes::char_of;
use crate::tokenizer::run_cache::RunCache;

/// A line is not looked up by itself if it is shorter than this.
const SHORTEST_LINE: usize = 48;

/// So many pieces are cut before they are looked up.
const AT_ONCE: usize = 32;

/// A vocabulary with its merges.
pub(crate) struct Encoder {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) merges: Merges,
    pub(crate) symbols: Symbols,
    pub(crate) splitter: Splitter,
    pub(crate) words: Words,
    /// Whether a piece that is an entry is that token, whatever the merges make of it.
    pub(crate) ignore_merges: bool,
}

/// What makes encoding again cheap. One per thread, for one encoder.
pub(crate) struct Buffers {
    pieces: PieceCache,
    /// Pieces that are long, or have many tokens.
    long_pieces: RunCache,
    lines: RunCache,
    merger: Merger,
    text: String,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            pieces: PieceCache::new(),
            long_pieces: RunCache::new(),
            lines: RunCache::new(),
            merger: Merger::default(),
            text: String::new(),
        }
    }
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        match &self.splitter {
            Splitter::Words(split) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Splitter::Gpt2(split) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Splitter::Seams(split) => self.encode_lines(&**split, text, has_prefix, buffers, ids),
        }
    }

    fn encode_lines(
        &self,
        split: &impl Split,
        text: &str,
        has_prefix: bool,
        buffers: &mut Buffers,
        ids: &mut Vec<TokenId>,
    ) {
        let bytes = text.as_bytes();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let end = newline + 1;
            if end < start + SHORTEST_LINE || !bytes.get(end).is_some_and(|next| split.parts_lines(*next)) {
                continue;
            }
            let (line, has_prefix) = (&text[start..end], has_prefix && start == 0);
            start = end;
            match buffers.lines.get(line, has_prefix) {
                Ok(known) => ids.extend_from_slice(known),
                Err(place) => {
                    let first = ids.len();
                    self.encode_pieces(split, line, has_prefix, buffers, ids);
                    if let Some(place) = place {
                        buffers.lines.put(place, line, has_prefix, &ids[first..]);
                    }
                }
            }
        }
        // The last line is mostly new, or the whole text, which others look up.
        self.encode_pieces(split, &text[start..], has_prefix && start == 0, buffers, ids);
    }

    fn encode_pieces(
        &self,
        split: &impl Split,
        text: &str,
        has_prefix: bool,
        buffers: &mut Buffers,
        ids: &mut Vec<TokenId>,
    ) {
        let mut at = 0;
        if has_prefix && !text.is_empty() {
            at = split.end(text, 0);
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
                let end = split.end(text, at);
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
        let Some(key) = key else { return self.encode_long_piece(piece, buffers, ids) };
        let first = ids.len();
        match self.words.get(key) {
            Some((word, Merged::Whole)) => ids.push(word.id),
            word => {
                self.merge(piece, buffers, ids);
                if let Some((word, Merged::Unknown)) = word {
                    word.learn(&ids[first..]);
                }
            }
        }
        buffers.pieces.put(key, &ids[first..]);
    }

    fn encode_long_piece(&self, piece: &str, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let first = ids.len();
        match buffers.long_pieces.get(piece, false) {
            Ok(known) => ids.extend_from_slice(known),
            Err(place) => {
                self.merge(piece, buffers, ids);
                if let Some(place) = place {
                    buffers.long_pieces.put(place, piece, false, &ids[first..]);
                }
            }
        }
    }

    fn merge(&self, piece: &str, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        if self.ignore_merges
            && let Some(id) = self.entry(piece, &mut buffers.text)
        {
            ids.push(id);
            return;
        }
        let merger = &mut buffers.merger;
        merger.symbols.clear();
        self.symbols.append(piece, &mut merger.symbols);
        merger.merge(&self.merges);
        ids.extend_from_slice(&merger.symbols);
    }

    /// The entry that a whole piece is.
    fn entry(&self, piece: &str, spelled: &mut String) -> Option<TokenId> {
        spelled.clear();
        match self.symbols {
            Symbols::Bytes(_) => spelled.extend(piece.bytes().map(char_of)),
            Symbols::Characters(_) => spelled.extend(piece.chars().map(|c| if c == ' ' { META_SPACE } else { c })),
        }
        self.vocabulary.id(spelled)
    }
}
