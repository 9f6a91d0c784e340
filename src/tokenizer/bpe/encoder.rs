//! From a text to tokens: lines that came before, words that came before, and merges for the rest.

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::merges::Merges;
use crate::tokenizer::bpe::pieces::{Key, PieceCache};
use crate::tokenizer::bpe::split::{Pattern, Scanner, Seams, parts};
use crate::tokenizer::bpe::symbols::{META_SPACE, Symbols};
use crate::tokenizer::bpe::vocabulary::Vocabulary;
use crate::tokenizer::bpe::words::Words;
use crate::tokenizer::lines::Lines;
use crate::tokenizer::run_cache::RunCache;

/// So many pieces are cut before they are looked up: by turns, one would wait for the other.
const AT_ONCE: usize = 64;

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
    Pattern(Pattern, Atoms),
    /// Where no entry reaches across.
    Seams(Seams),
}

/// What makes encoding again cheap. One per thread, for one encoder.
#[derive(Default)]
pub(crate) struct Buffers {
    lines: Lines,
    scanner: Scanner,
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

/// A piece of a text.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    end: usize,
    /// Empty if it is long.
    key: Key,
    hash: u64,
}

impl Piece {
    const NONE: Self = Self { start: 0, end: 0, key: Key::EMPTY, hash: 0 };

    #[inline]
    fn new(text: &str, start: usize, end: usize) -> Self {
        let key = Key::new(text.as_bytes(), start, end).unwrap_or(Key::EMPTY);
        Self { start, end, key, hash: key.hash() }
    }
}

impl Encoder {
    /// Appends the tokens of a text, before which a meta space comes if it `has_prefix`.
    pub(crate) fn encode(&self, text: &str, has_prefix: bool, buffers: &mut Buffers, ids: &mut Vec<TokenId>) {
        let Buffers { lines, scanner, pieces } = buffers;
        match &self.cutting {
            Cutting::Pattern(pattern, _) => {
                lines.encode(
                    text,
                    has_prefix,
                    |next| pattern.parts_lines(next),
                    ids,
                    |line, _, ids| {
                        for part in parts(*pattern, line) {
                            self.encode_pieces(part, 0, scanner.ends(*pattern, part), pieces, ids);
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
                        let start = if has_prefix { self.encode_prefixed(seams, line, pieces, ids) } else { 0 };
                        self.encode_pieces(line, start, seams.ends(line, start), pieces, ids);
                    },
                );
            }
        }
    }

    /// The first piece of a text, after a meta space. Returns where it ends.
    fn encode_prefixed(&self, seams: &Seams, text: &str, pieces: &mut Pieces, ids: &mut Vec<TokenId>) -> usize {
        let Some(end) = seams.ends(text, 0).next() else { return 0 };
        let mut prefixed = std::mem::take(&mut pieces.text);
        prefixed.clear();
        prefixed.push(META_SPACE);
        prefixed.push_str(&text[..end]);
        self.encode_pieces(&prefixed, 0, std::iter::once(prefixed.len()), pieces, ids);
        pieces.text = prefixed;
        end
    }

    /// Appends the tokens of pieces that follow one another from `start` on, and end there.
    #[inline]
    fn encode_pieces(
        &self,
        text: &str,
        mut start: usize,
        mut ends: impl Iterator<Item = usize>,
        pieces: &mut Pieces,
        ids: &mut Vec<TokenId>,
    ) {
        let mut cut = [Piece::NONE; AT_ONCE];
        let mut words = [0; AT_ONCE];
        let mut others = [0; AT_ONCE];
        loop {
            let mut count = 0;
            for (piece, end) in cut.iter_mut().zip(&mut ends) {
                *piece = Piece::new(text, start, end);
                self.words.prefetch(piece.hash);
                (start, count) = (end, count + 1);
            }
            let cut = &cut[..count];
            let mut other_count = 0;
            for (at, piece) in cut.iter().enumerate() {
                let word = self.words.get(piece.key, piece.hash);
                words[at] = word.unwrap_or_default();
                others[other_count] = at;
                other_count += usize::from(word.is_none());
            }
            for at in &others[..other_count] {
                pieces.short.prefetch(cut[*at].hash);
            }
            let mut done = 0;
            for at in &others[..other_count] {
                ids.extend_from_slice(&words[done..*at]);
                self.encode_other_piece(text, cut[*at], pieces, ids);
                done = at + 1;
            }
            ids.extend_from_slice(&words[done..count]);
            if count < AT_ONCE {
                return;
            }
        }
    }

    /// A piece that is no entry.
    fn encode_other_piece(&self, text: &str, piece: Piece, pieces: &mut Pieces, ids: &mut Vec<TokenId>) {
        let Piece { start, end, key, hash } = piece;
        if key == Key::EMPTY {
            self.encode_long_piece(&text[start..end], pieces, ids);
        } else if !pieces.short.append(key, hash, ids) {
            let first = ids.len();
            self.merge(&text[start..end], pieces, ids);
            pieces.short.put(key, hash, &ids[first..]);
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
