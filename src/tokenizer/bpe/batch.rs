//! Pieces of a text, looked up and merged together: one by one, each would wait for memory.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::{FEW, Found, PieceCache, Table};
use crate::tokenizer::bpe::words::NO_WORD;

/// So many pieces are cut before they are looked up, and those that are not known are encoded together.
pub(super) const AT_ONCE: usize = 1024;
/// So many are asked for before the first of them is looked up: as many as the nearest cache has room for.
const ASKED: usize = 64;
/// So many tokens are copied at once, whether they are needed or not: nothing then depends on how many they are.
const COPIED: usize = 16;
/// The first byte of characters of Chinese, Japanese and Korean, and above.
const IDEOGRAPHS: u8 = 0xE3;
/// In place of the hash of a long piece that is not kept.
const NOT_KEPT: u64 = 0;

/// Pieces that came before, and room for others.
pub(crate) struct Batch {
    pieces: Box<[Piece; AT_ONCE]>,
    /// A bit for each piece that is not known, the first one's the lowest.
    missed: [u64; AT_ONCE / ASKED],
    /// The tokens of the pieces that are known, one after the other.
    known: Box<[TokenId; AT_ONCE * FEW + COPIED]>,
    entries: Vec<Entry>,
    waiting: Vec<Waiting>,
    kept: PieceCache,
    merger: Merger,
}

#[derive(Clone, Copy)]
struct Piece {
    key: Key,
    /// Of a short piece [`Key::quick_hash`], of a long one [`hash_of_long`].
    hash: u64,
    /// How many known tokens come before it.
    before: u32,
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

impl Default for Batch {
    fn default() -> Self {
        Self {
            pieces: Box::new([Piece { key: Key::EMPTY, hash: NOT_KEPT, before: 0 }; AT_ONCE]),
            missed: [0; AT_ONCE / ASKED],
            known: Box::new([0; AT_ONCE * FEW + COPIED]),
            entries: Vec::new(),
            waiting: Vec::new(),
            kept: PieceCache::default(),
            merger: Merger::default(),
        }
    }
}

impl Batch {
    /// Appends the tokens of the pieces of a text, which end there.
    pub(super) fn encode(&mut self, model: &Model, text: &str, ends: &[u32], ids: &mut Vec<TokenId>) {
        let mut start = 0;
        for ends in ends.chunks(AT_ONCE) {
            let (known, is_missed) = self.look_up(text.as_bytes(), start, ends);
            match is_missed {
                false => ids.extend_from_slice(&self.known[..known]),
                true => self.encode_missed(model, text, start, ends, known, ids),
            }
            start = ends.last().copied().unwrap_or_default();
        }
    }

    /// Finds the tokens of pieces, which follow one another from `start` on. Returns how many there are, and whether any
    /// piece was missed.
    fn look_up(&mut self, text: &[u8], mut start: u32, ends: &[u32]) -> (usize, bool) {
        let Self { pieces, missed, known, kept, .. } = self;
        let table = kept.table();
        let (mut len, mut all_missed) = (0, 0);
        *missed = [0; AT_ONCE / ASKED];
        for ((pieces, ends), missed) in pieces.chunks_exact_mut(ASKED).zip(ends.chunks(ASKED)).zip(missed) {
            let pieces = &mut pieces[..ends.len()];
            start = ask(table, text, start, ends, pieces);
            (len, *missed) = find_known(table, pieces, known, len);
            all_missed |= *missed;
        }
        (len, all_missed != 0)
    }

    /// Appends the tokens of all pieces, of which some were missed.
    #[inline(never)]
    fn encode_missed(
        &mut self,
        model: &Model,
        text: &str,
        start: u32,
        ends: &[u32],
        known: usize,
        ids: &mut Vec<TokenId>,
    ) {
        let end_of = |piece: usize| ends[piece] as usize;
        let start_of = |piece: usize| if piece == 0 { start as usize } else { end_of(piece - 1) };
        // Most of them only have more tokens than a few, or more bytes.
        let mut done = 0;
        while let Some(at) = places_of(self.missed).next()
            && let Some(kept) = self.find_kept(text, start_of(at)..end_of(at), self.pieces[at])
        {
            let before = self.pieces[at].before as usize;
            ids.extend_from_slice(&self.known[done..before]);
            ids.extend_from_slice(self.kept.tokens(kept));
            self.missed[at / ASKED] &= self.missed[at / ASKED] - 1;
            done = before;
        }
        if self.missed == [0; AT_ONCE / ASKED] {
            return ids.extend_from_slice(&self.known[done..known]);
        }
        self.entries.clear();
        self.waiting.clear();
        self.merger.clear();
        let mut bytes = 0;
        for at in places_of(self.missed) {
            let Piece { key, hash, .. } = self.pieces[at];
            match key == Key::LONG {
                true => self.kept.prefetch_text(hash),
                false => model.words.prefetch(key),
            }
            bytes += end_of(at) - start_of(at);
        }
        // A piece has as many tokens as bytes at most.
        self.kept.make_room(bytes);
        for at in places_of(self.missed) {
            self.find(model, text, start_of(at)..end_of(at), self.pieces[at]);
        }
        self.look_up_parts(model);
        self.merger.merge(&model.merges);
        let first = ids.len();
        ids.resize(first + known - done + bytes + COPIED, 0);
        let len = self.write(done..known, &mut ids[first..]);
        ids.truncate(first + len);
        self.keep(text, &ids[first..]);
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

    /// The same for a piece with characters of several bytes: it is cut between them where that changes nothing.
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

    /// Writes these tokens that are known, and those of all other pieces between them, and returns how many there are.
    #[inline]
    fn write(&mut self, known: Range<usize>, out: &mut [TokenId]) -> usize {
        let (mut len, mut done) = (0, known.start);
        for entry in &mut self.entries {
            if entry.before > done {
                len = copy(&self.known[done..], entry.before - done, out, len);
            }
            done = entry.before;
            entry.tokens[0] = len;
            match entry.source {
                Source::Nothing => {}
                Source::Word(id) => {
                    out[len] = id;
                    len += 1;
                }
                Source::Kept(piece) => len += self.kept.copy(piece, &mut out[len..]),
                Source::Merged(piece) => {
                    let tokens = self.merger.tokens(piece);
                    out[len..len + tokens.len()].copy_from_slice(tokens);
                    len += tokens.len();
                }
            }
            entry.tokens[1] = len;
        }
        copy(&self.known[done..], known.end - done, out, len)
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

/// Makes the keys of pieces, and asks for the memory where they are kept. Returns where the last one ends.
#[inline(never)]
fn ask(table: Table<'_>, text: &[u8], mut start: u32, ends: &[u32], pieces: &mut [Piece]) -> u32 {
    for (piece, end) in pieces.iter_mut().zip(ends) {
        (piece.key, piece.hash) = match Key::of_short(text, start, *end) {
            Some(short) => (short, short.quick_hash()),
            None => (Key::LONG, hash_of_long(&text[start as usize..*end as usize])),
        };
        table.prefetch(piece.hash);
        start = *end;
    }
    start
}

/// Writes the tokens of pieces behind so many others. Returns how many there are then, and a bit for each piece that is not
/// known, the first one's the lowest.
#[inline(never)]
fn find_known(
    table: Table<'_>,
    pieces: &mut [Piece],
    known: &mut [TokenId; AT_ONCE * FEW + COPIED],
    mut len: usize,
) -> (usize, u64) {
    let unused = ASKED - pieces.len();
    let mut missed: u64 = 0;
    for piece in pieces {
        let (ids, count) = table.get_few(piece.key, piece.hash);
        // Always the same number, so that nothing depends on how many they are. There is room, which is said once more.
        let at = len.min(AT_ONCE * FEW);
        known[at..=at + FEW].copy_from_slice(ids);
        piece.before = len as u32;
        len += count;
        missed = missed << 1 | u64::from(count == 0);
    }
    (len, missed.reverse_bits() >> unused)
}

/// The numbers of the bits that are set.
fn places_of(bits: [u64; AT_ONCE / ASKED]) -> impl Iterator<Item = usize> {
    (0..).step_by(ASKED).zip(bits).flat_map(|(first, mut bits)| {
        std::iter::from_fn(move || {
            let at = first + bits.trailing_zeros() as usize;
            (bits != 0).then(|| {
                bits &= bits - 1;
                at
            })
        })
    })
}

/// Copies so many tokens to the end of others, and returns their new number. There is room for [`COPIED`] more.
#[inline]
fn copy(from: &[TokenId], count: usize, to: &mut [TokenId], len: usize) -> usize {
    for at in (0..count).step_by(COPIED) {
        to[len + at..len + at + COPIED].copy_from_slice(&from[at..at + COPIED]);
    }
    len + count
}

/// One of ideographs is a part of a sentence, and hardly comes again.
#[inline(never)]
fn hash_of_long(piece: &[u8]) -> u64 {
    if piece[0] >= IDEOGRAPHS { NOT_KEPT } else { FixedState::with_seed(0).hash_one(piece) }
}
