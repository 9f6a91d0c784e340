//! The tokens of the pieces of a text: those that are known, and all others, which are merged together.

use std::ops::Range;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::known::{AT_ONCE, COPIED, Known, NOT_KEPT, Piece};
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::{Found, PieceCache};
use crate::tokenizer::bpe::words::NO_WORD;

/// Pieces that came before, and room for others.
#[derive(Default)]
pub(crate) struct Batch {
    known: Known,
    entries: Vec<Entry>,
    waiting: Vec<Waiting>,
    kept: PieceCache,
    merger: Merger,
}

/// A piece that was missed, or a part of one.
struct Entry {
    /// How many known tokens come before it.
    before: usize,
    source: Source,
    keep: Keep,
    /// The first entry whose tokens are kept with those of this one.
    first: usize,
    /// Where its tokens are in the output.
    tokens: [usize; 2],
}

/// A part of a piece, whose memory was asked for.
struct Waiting {
    key: Key,
    entry: usize,
    merged: usize,
}

/// Where tokens come from.
enum Source {
    Nothing,
    Word(TokenId),
    Kept(Found),
    Merged(usize),
}

/// Where tokens are kept.
enum Keep {
    Nowhere,
    Short(Key),
    Long { hash: u64, start: usize, end: usize },
}

impl Batch {
    /// Appends the tokens of the pieces of a text, which end there.
    pub(super) fn encode(&mut self, model: &Model, text: &str, ends: &[u32], ids: &mut Vec<TokenId>) {
        let mut start = 0;
        for ends in ends.chunks(AT_ONCE) {
            self.known.look_up(self.kept.table(), text.as_bytes(), start, ends);
            match self.known.has_all() {
                true => ids.extend_from_slice(self.known.tokens()),
                false => self.encode_missed(model, text, start, ends, ids),
            }
            start = ends.last().copied().unwrap_or_default();
        }
    }

    /// Appends the tokens of all pieces, of which some were missed.
    #[inline(never)]
    fn encode_missed(&mut self, model: &Model, text: &str, start: u32, ends: &[u32], ids: &mut Vec<TokenId>) {
        let end_of = |piece: usize| ends[piece] as usize;
        let start_of = |piece: usize| if piece == 0 { start as usize } else { end_of(piece - 1) };
        // Most of them only have more tokens than a few, or more bytes.
        let (mut done, mut left) = (0, self.known.missed());
        let first = loop {
            let Some(at) = left.next() else {
                return ids.extend_from_slice(&self.known.tokens()[done..]);
            };
            let piece = self.known.piece(at);
            let Some(kept) = self.find_kept(text, start_of(at)..end_of(at), piece) else { break at };
            let before = piece.before as usize;
            ids.extend_from_slice(&self.known.tokens()[done..before]);
            ids.extend_from_slice(self.kept.tokens(kept));
            done = before;
        };
        let missed = || std::iter::once(first).chain(left.clone());
        self.entries.clear();
        self.waiting.clear();
        self.merger.clear();
        let mut bytes = 0;
        for at in missed() {
            let Piece { key, hash, .. } = self.known.piece(at);
            match key == Key::LONG {
                true => self.kept.prefetch_text(hash),
                false => model.words.prefetch(key),
            }
            bytes += end_of(at) - start_of(at);
        }
        // A piece has as many tokens as bytes at most.
        self.kept.make_room(bytes);
        for at in missed() {
            self.find(model, text, start_of(at)..end_of(at), self.known.piece(at));
        }
        self.look_up_parts(model);
        self.merger.merge(&model.merges);
        let start = ids.len();
        ids.resize(start + self.known.tokens().len() - done + bytes + COPIED, 0);
        let len = self.write(done, &mut ids[start..]);
        ids.truncate(start + len);
        self.keep(text, &ids[start..]);
    }

    /// Where a piece is that was kept.
    #[inline]
    fn find_kept(&self, text: &str, bytes: Range<usize>, Piece { key, hash, .. }: Piece) -> Option<Found> {
        match (key == Key::LONG, hash) {
            (true, NOT_KEPT) => None,
            (true, hash) => self.kept.find_long(&text[bytes], hash),
            (false, _) => self.kept.find(key),
        }
    }

    /// Finds where the tokens of a piece come from.
    #[inline]
    fn find(&mut self, model: &Model, text: &str, bytes: Range<usize>, piece: Piece) {
        let Piece { key, hash, before } = piece;
        let (before, is_long) = (before as usize, key == Key::LONG);
        if let Some(kept) = self.find_kept(text, bytes.clone(), piece) {
            return self.add(before, Source::Kept(kept), Keep::Nowhere);
        }
        let word = match is_long {
            true => model.long_words.get(&text[bytes.clone()]),
            false => Some(model.words.get(key)).filter(|word| *word != NO_WORD),
        };
        let keep = match (is_long, hash) {
            (true, NOT_KEPT) => Keep::Nowhere,
            (true, hash) => Keep::Long { hash, start: bytes.start, end: bytes.end },
            (false, _) => Keep::Short(key),
        };
        match word {
            Some(word) => self.add(before, Source::Word(word), keep),
            None => self.merge(model, &text[bytes], before, keep),
        }
    }

    /// Lets a piece be merged.
    fn merge(&mut self, model: &Model, piece: &str, before: usize, keep: Keep) {
        match model.atoms().filter(|_| !piece.is_ascii()) {
            None => {
                model.symbols.append(piece, self.merger.symbols());
                let merged = self.merger.add();
                self.add(before, Source::Merged(merged), keep);
            }
            Some(atoms) => {
                let first = self.entries.len();
                self.find_parts(model, atoms, piece, before);
                match &mut self.entries[first..] {
                    [whole] => whole.keep = keep,
                    _ => {
                        self.add(before, Source::Nothing, keep);
                        self.entries.last_mut().expect("one was just added").first = first;
                    }
                }
            }
        }
    }

    /// Lets a piece with characters of several bytes be merged. It is cut between them where that changes nothing.
    fn find_parts(&mut self, model: &Model, atoms: &Atoms, piece: &str, before: usize) {
        let bytes = piece.as_bytes();
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let (mut start, mut last) = (0, None);
        for (begin, c) in piece.char_indices() {
            let end = begin + c.len_utf8();
            let atom = match c.is_ascii() {
                true => None,
                false => atoms.get(byte(begin.wrapping_sub(1)), c, byte(end)),
            };
            let is_whole = atom.is_some() || c.is_ascii();
            if is_whole && last.is_some_and(|last| atoms.parts(last, c)) {
                self.find_part(model, piece, start..begin, before);
                start = begin;
            }
            match atom {
                Some(id) => self.merger.symbols().push(id),
                None => model.symbols.append_bytes(&bytes[begin..end], self.merger.symbols()),
            }
            last = Some(c).filter(|_| is_whole);
        }
        self.find_part(model, piece, start..piece.len(), before);
    }

    /// A part of a piece, whose symbols wait to be merged.
    #[inline]
    fn find_part(&mut self, model: &Model, piece: &str, part: Range<usize>, before: usize) {
        if let [id] = self.merger.next_piece() {
            let word = Source::Word(*id);
            self.merger.forget_next();
            return self.add(before, word, Keep::Nowhere);
        }
        // The whole piece was looked up before.
        let key = match part.len() == piece.len() {
            true => Key::LONG,
            false => Key::new(piece.as_bytes(), part.start as u32, part.end as u32),
        };
        let merged = self.merger.add();
        if key == Key::LONG {
            return self.add(before, Source::Merged(merged), Keep::Nowhere);
        }
        // Merges alone make its tokens, while a whole piece may be an entry.
        let key = if model.ignore_merges { key.of_part() } else { key };
        self.kept.prefetch(key.quick_hash());
        if !model.ignore_merges {
            model.words.prefetch(key);
        }
        self.waiting.push(Waiting { key, entry: self.entries.len(), merged });
        self.add(before, Source::Merged(merged), Keep::Short(key));
    }

    /// Parts that are known need not be merged.
    fn look_up_parts(&mut self, model: &Model) {
        for Waiting { key, entry, merged } in &self.waiting {
            let word = || match model.words.get(*key) {
                _ if model.ignore_merges => None,
                NO_WORD => None,
                word => Some(Source::Word(word)),
            };
            if let Some(source) = self.kept.find(*key).map(Source::Kept).or_else(word) {
                let entry = &mut self.entries[*entry];
                (entry.source, entry.keep) = (source, Keep::Nowhere);
                self.merger.forget(*merged);
            }
        }
    }

    #[inline]
    fn add(&mut self, before: usize, source: Source, keep: Keep) {
        let first = self.entries.len();
        self.entries.push(Entry { before, source, keep, first, tokens: [0; 2] });
    }

    /// Writes the known tokens from this one on, and those of all other pieces between them, and returns how many there are.
    #[inline]
    fn write(&mut self, mut done: usize, out: &mut [TokenId]) -> usize {
        let mut len = 0;
        for entry in &mut self.entries {
            len = self.known.copy(done..entry.before, out, len);
            done = entry.before;
            entry.tokens[0] = len;
            let tokens = match &entry.source {
                Source::Nothing => &[],
                Source::Word(id) => std::slice::from_ref(id),
                Source::Kept(piece) => self.kept.tokens(*piece),
                Source::Merged(piece) => self.merger.tokens(*piece),
            };
            out[len..len + tokens.len()].copy_from_slice(tokens);
            len += tokens.len();
            entry.tokens[1] = len;
        }
        self.known.copy(done..self.known.tokens().len(), out, len)
    }

    /// Keeps what was found for the first time.
    #[inline]
    fn keep(&mut self, text: &str, tokens: &[TokenId]) {
        for entry in &self.entries {
            let tokens = || &tokens[self.entries[entry.first].tokens[0]..entry.tokens[1]];
            // It may have come twice.
            match entry.keep {
                Keep::Short(key) if self.kept.find(key).is_none() => self.kept.put(key, tokens()),
                Keep::Long { hash, start, end } if self.kept.find_long(&text[start..end], hash).is_none() => {
                    self.kept.put_long(&text[start..end], hash, tokens());
                }
                _ => {}
            }
        }
    }
}
