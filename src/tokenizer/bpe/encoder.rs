//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::merges::Merges;
use crate::tokenizer::bpe::pieces::{Key, PieceCache};
use crate::tokenizer::bpe::split::{Seams, Split, Splitter};
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::Words;
use crate::tokenizer::lines::Lines;
use crate::tokenizer::run_cache::RunCache;

/// So many pieces are cut before they are looked up: by turns, one would wait for the other.
const AT_ONCE: usize = 32;

/// The first byte of characters of Chinese, Japanese and Korean, and above.
const IDEOGRAPHS: u8 = 0xE3;

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
    Pattern(Splitter, Atoms),
    /// Where no entry reaches across.
    Seams(Seams),
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
    long: RunCache,
    merger: Merger,
    text: String,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { short: PieceCache::new(), long: RunCache::new(), merger: Merger::default(), text: String::new() }
    }
}

/// A piece of a text, which begins where the one before ends.
#[derive(Clone, Copy)]
struct Cut {
    end: usize,
    /// Empty if it is long.
    key: Key,
    hash: u64,
}

impl Cut {
    const NONE: Self = Self { end: 0, key: Key::EMPTY, hash: 0 };

    /// The next piece of a text.
    #[inline]
    fn next<S: Split>(split: &S, text: &str, start: usize) -> Self {
        if let Some((bytes, len)) = split.word(text, start) {
            let key = Key::of_first(bytes, len);
            return Self { end: start + len, key, hash: key.hash() };
        }
        Self::new(text, start, split.end(text, start))
    }

    #[inline]
    fn new(text: &str, start: usize, end: usize) -> Self {
        let key = Key::new(text.as_bytes(), start, end).unwrap_or(Key::EMPTY);
        Self { end, key, hash: key.hash() }
    }
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        match &self.cutting {
            Cutting::Pattern(Splitter::Words(split), _) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Cutting::Pattern(Splitter::Cased(split), _) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Cutting::Pattern(Splitter::DeepSeek(split), _) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Cutting::Pattern(Splitter::Gpt2(split), _) => self.encode_lines(split, text, has_prefix, buffers, ids),
            Cutting::Seams(split) => self.encode_lines(split, text, has_prefix, buffers, ids),
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
        let Buffers { lines, pieces } = buffers;
        let parts = |next| split.parts_lines(next);
        lines.encode(text, has_prefix, parts, ids, |line, has_prefix, ids| {
            self.encode_pieces(split, line, has_prefix, pieces, ids);
        });
    }

    fn encode_pieces(
        &self,
        split: &impl Split,
        text: &str,
        has_prefix: bool,
        pieces: &mut Pieces,
        ids: &mut Vec<TokenId>,
    ) {
        let mut at = 0;
        if has_prefix && !text.is_empty() {
            at = split.end(text, 0);
            let mut prefixed = std::mem::take(&mut pieces.text);
            prefixed.clear();
            prefixed.push(META_SPACE);
            prefixed.push_str(&text[..at]);
            self.encode_piece(&prefixed, Cut::new(&prefixed, 0, prefixed.len()), pieces, ids);
            pieces.text = prefixed;
        }
        let mut cuts = [Cut::NONE; AT_ONCE];
        while at < text.len() {
            let (mut start, mut count) = (at, 0);
            while at < text.len() && count < AT_ONCE {
                let cut = Cut::next(split, text, at);
                cuts[count] = cut;
                (at, count) = (cut.end, count + 1);
            }
            self.words.touch(cuts[..count].iter().map(|cut| cut.hash));
            for cut in &cuts[..count] {
                self.encode_piece(&text[start..cut.end], *cut, pieces, ids);
                start = cut.end;
            }
        }
    }

    #[inline(always)]
    fn encode_piece(&self, piece: &str, cut: Cut, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        match self.words.get(cut.key, cut.hash) {
            Some(id) if cut.key != Key::EMPTY => ids.push(id),
            _ => self.encode_other_piece(piece, cut, pieces, ids),
        }
    }

    /// A piece that is no entry.
    fn encode_other_piece(&self, piece: &str, cut: Cut, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        if cut.key == Key::EMPTY {
            self.encode_long_piece(piece, pieces, ids);
        } else if !pieces.short.append(cut.key, cut.hash, ids) {
            let first = ids.len();
            self.merge(piece, pieces, ids);
            pieces.short.put(cut.key, cut.hash, &ids[first..]);
        }
    }

    fn encode_long_piece(&self, piece: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        // Such a piece is a part of a sentence, and hardly comes again.
        let comes_again = piece.as_bytes().first().is_none_or(|first| *first < IDEOGRAPHS);
        let place = match comes_again.then(|| pieces.long.get(piece, false)) {
            None => None,
            Some(Ok(known)) => return ids.extend_from_slice(known),
            Some(Err(place)) => place,
        };
        let first = ids.len();
        match self.long_entry(piece, &mut pieces.text) {
            Some(id) => ids.push(id),
            None => self.merge(piece, pieces, ids),
        }
        if let Some(place) = place {
            pieces.long.put(place, piece, false, &ids[first..]);
        }
    }

    fn merge(&self, piece: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        pieces.merger.symbols.clear();
        match &self.cutting {
            Cutting::Pattern(_, atoms) if !piece.is_ascii() => self.merge_atoms(atoms, piece, pieces, ids),
            _ => {
                self.symbols.append(piece, &mut pieces.merger.symbols);
                pieces.merger.merge(&self.merges);
                ids.extend_from_slice(&pieces.merger.symbols);
            }
        }
    }

    /// The same for a piece with characters of several bytes: it is cut between them where that changes nothing.
    fn merge_atoms(&self, atoms: &Atoms, piece: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let bytes = piece.as_bytes();
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let (mut start, mut last) = (0, None);
        for (at, c) in piece.char_indices() {
            let end = at + c.len_utf8();
            let atom = match c.is_ascii() {
                true => None,
                false => atoms.get(byte(at.wrapping_sub(1)), c, byte(end)),
            };
            let is_whole = atom.is_some() || c.is_ascii();
            if is_whole && last.is_some_and(|last| atoms.parts(last, c)) {
                self.merge_part(piece, start, at, pieces, ids);
                start = at;
            }
            match atom {
                Some(id) => pieces.merger.symbols.push(id),
                None => self.symbols.append_bytes(&bytes[at..end], &mut pieces.merger.symbols),
            }
            last = Some(c).filter(|_| is_whole);
        }
        self.merge_part(piece, start, piece.len(), pieces, ids);
    }

    /// Appends the tokens of a part of a piece, whose symbols wait to be merged.
    #[inline]
    fn merge_part(&self, piece: &str, start: usize, end: usize, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let Pieces { short, merger, .. } = pieces;
        // The whole piece was looked up before.
        let is_part = merger.symbols.len() > 1 && end - start < piece.len();
        let key = Key::new(piece.as_bytes(), start, end).filter(|_| is_part);
        match key.map(|key| (key, key.hash())) {
            None => {
                merger.merge(&self.merges);
                ids.extend_from_slice(&merger.symbols);
            }
            Some((key, hash)) => match self.words.get(key, hash).filter(|_| !self.ignore_merges) {
                Some(id) => ids.push(id),
                None if short.append(key, hash, ids) => {}
                None => {
                    merger.merge(&self.merges);
                    ids.extend_from_slice(&merger.symbols);
                    short.put(key, hash, &merger.symbols);
                }
            },
        }
        merger.symbols.clear();
    }

    /// The entry that a long piece is, if that is all that matters. Short ones are among the words.
    fn long_entry(&self, piece: &str, spelled: &mut String) -> Option<TokenId> {
        if self.ignore_merges { self.vocabulary.id(self.symbols.spelled(piece, spelled)) } else { None }
    }
}

/// The short entries that their own text merges to, or all with `ignore_merges`.
pub(crate) fn find_words(vocabulary: &Vocabulary, symbols: &Symbols, merges: &Merges, ignore_merges: bool) -> Words {
    let mut merger = Merger::default();
    let mut bytes = Vec::new();
    let mut is_whole = |id: TokenId, text: &str| {
        merger.symbols.clear();
        symbols.append(text, &mut merger.symbols);
        merger.merge(merges);
        merger.symbols == [id]
    };
    let words = vocabulary.iter().filter_map(|(id, entry)| {
        let text = symbols.text(entry, &mut bytes)?;
        let key = Key::new(text.as_bytes(), 0, text.len()).filter(|_| !text.is_empty())?;
        (ignore_merges || is_whole(id, text)).then_some((key, id))
    });
    Words::new(words.collect::<Vec<_>>().into_iter())
}
