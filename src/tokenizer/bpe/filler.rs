//! Fills in the tokens of pieces that were missed: each is found or merged, and kept.

use std::ops::Range;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::known::{COPIED, NOT_KEPT, copy};
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::missed::{Incomplete, Missed, MissedPiece};
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::{Found, PieceCache};
use crate::tokenizer::bpe::words::NO_WORD;

/// Pieces that came before, and room to find or merge others.
#[derive(Default)]
pub(super) struct Filler {
    pub(super) kept: PieceCache,
    entries: Vec<Entry>,
    /// The last entry of each piece.
    lasts: Vec<usize>,
    waiting: Vec<Waiting>,
    merger: Merger,
    filled: Vec<TokenId>,
}

/// A piece that was missed, or a part of one.
struct Entry {
    /// How many tokens come before it, without those that are missing.
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
    /// From where the tokens are that this entry was the last of.
    Entry(usize),
}

/// Where tokens are kept.
enum Keep {
    Nowhere,
    Short(Key),
    Long { hash: u64, text: Range<usize> },
}

/// The number of places where a piece is looked for that was missed before.
const SEEN: usize = 256;

impl Filler {
    /// Fills in the tokens of the pieces that were missed, from this number on, and counts those up to these ends again.
    #[inline]
    pub(super) fn fill_in(
        &mut self,
        model: &Model,
        missed: &Missed,
        from: usize,
        ids: &mut Vec<TokenId>,
        ends: &mut [Incomplete],
    ) {
        let (pieces, texts) = (missed.from(from), missed.texts());
        let Some(first) = pieces.first() else { return };
        let start = first.before;
        let bytes = pieces.iter().map(MissedPiece::bytes).sum();
        self.entries.clear();
        self.lasts.clear();
        self.waiting.clear();
        self.merger.clear();
        // A piece has as many tokens as bytes at most.
        self.kept.make_room(bytes);
        // The last entry of the piece that was there before.
        let mut seen = [u32::MAX; SEEN];
        for piece in pieces {
            self.find(model, texts, piece, &mut seen);
            self.lasts.push(self.entries.len() - 1);
        }
        self.look_up_parts(model);
        self.merger.merge(&model.merges);
        let len = ids.len() - start;
        ids.resize(start + len + COPIED, 0);
        let most = len + bytes + COPIED;
        if self.filled.len() < most {
            self.filled.resize(most, 0);
        }
        let mut filled = std::mem::take(&mut self.filled);
        let filled_len = self.write(&ids[start..], start, len, &mut filled);
        self.keep(texts, &filled);
        for end in ends {
            if let Some(piece) = end.missed.checked_sub(from + 1) {
                let entry = &self.entries[self.lasts[piece]];
                end.tokens = end.tokens - entry.before + start + entry.tokens[1];
            }
        }
        ids.truncate(start);
        ids.extend_from_slice(&filled[..filled_len]);
        self.filled = filled;
    }

    /// Finds where the tokens of a piece come from.
    #[inline]
    fn find(&mut self, model: &Model, texts: &str, piece: &MissedPiece, seen: &mut [u32; SEEN]) {
        let MissedPiece { before, key, hash, ref text } = *piece;
        let is_long = key == Key::LONG;
        let seen = &mut seen[(hash >> (u64::BITS - SEEN.ilog2())) as usize];
        let is_same = self.entries.get(*seen as usize).is_some_and(|entry| match &entry.keep {
            Keep::Nowhere => false,
            Keep::Short(other) => *other == key,
            Keep::Long { hash: other, text: of } => {
                (is_long, *other) == (true, hash) && texts[of.clone()] == texts[text.clone()]
            }
        });
        if is_same {
            return self.add(before, Source::Entry(*seen as usize), Keep::Nowhere);
        }
        let (word, keep) = match (is_long, hash) {
            (true, NOT_KEPT) => (model.long_words.get(&texts[text.clone()]), Keep::Nowhere),
            (true, hash) => (model.long_words.get(&texts[text.clone()]), Keep::Long { hash, text: text.clone() }),
            (false, _) => (Some(model.words.get(key)).filter(|word| *word != NO_WORD), Keep::Short(key)),
        };
        match word {
            Some(word) => self.add(before, Source::Word(word), keep),
            None if is_long => self.merge(model, &texts[text.clone()], before, keep),
            None => self.merge_short(model, key, before, keep),
        }
        *seen = (self.entries.len() - 1) as u32;
    }

    /// Lets a short piece be merged.
    #[inline]
    fn merge_short(&mut self, model: &Model, key: Key, before: usize, keep: Keep) {
        let (bytes, len) = (key.bytes(), key.len());
        if key.is_ascii() && model.symbols.append_ascii(bytes, len, self.merger.symbols()) {
            let merged = self.merger.add();
            return self.add(before, Source::Merged(merged), keep);
        }
        let piece = str::from_utf8(&bytes[..len]).expect("text is cut between characters");
        self.merge(model, piece, before, keep);
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

    /// Writes all of these tokens, the first of which is this one, with those of all entries between them. Returns how many
    /// there are.
    #[inline]
    fn write(&mut self, ids: &[TokenId], first: usize, count: usize, out: &mut [TokenId]) -> usize {
        let (mut len, mut done) = (0, 0);
        for at in 0..self.entries.len() {
            let Entry { before, ref source, .. } = self.entries[at];
            let before = before - first;
            len = copy(ids, done..before, out, len);
            done = before;
            let start = len;
            match source {
                Source::Nothing => {}
                Source::Word(id) => {
                    out[len] = *id;
                    len += 1;
                }
                Source::Merged(piece) => len = copy(self.merger.all(), self.merger.piece(*piece), out, len),
                Source::Kept(piece) => {
                    let tokens = self.kept.tokens(*piece);
                    len += tokens.len();
                    out[start..len].copy_from_slice(tokens);
                }
                Source::Entry(last) => {
                    let tokens = self.tokens_up_to(*last);
                    len += tokens.len();
                    out.copy_within(tokens, start);
                }
            }
            self.entries[at].tokens = [start, len];
        }
        copy(ids, done..count, out, len)
    }

    /// Where the tokens are in the output that this entry was the last of.
    #[inline]
    fn tokens_up_to(&self, last: usize) -> Range<usize> {
        let Entry { first, tokens, .. } = &self.entries[last];
        self.entries[*first].tokens[0]..tokens[1]
    }

    /// Keeps what was found for the first time.
    #[inline]
    fn keep(&mut self, texts: &str, out: &[TokenId]) {
        for at in 0..self.entries.len() {
            let tokens = self.tokens_up_to(at);
            match &self.entries[at].keep {
                Keep::Nowhere => {}
                Keep::Short(key) => self.kept.put(*key, out, tokens),
                Keep::Long { hash, text } => {
                    let text = &texts[text.clone()];
                    // It may have come twice.
                    if self.kept.find_long(text, *hash).is_none() {
                        self.kept.put_long(text, *hash, out, tokens);
                    }
                }
            }
        }
    }
}
