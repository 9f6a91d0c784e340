//! Pieces of a text, looked up and merged together: one by one, each would wait for memory.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::{FEW, Found, PieceCache};
use crate::tokenizer::bpe::words::NO_WORD;

/// So many pieces are cut before they are looked up.
pub(super) const AT_ONCE: usize = 256;
/// So many tokens are copied at once, whether they are needed or not: nothing then depends on how many they are.
const COPIED: usize = 16;
/// The first byte of characters of Chinese, Japanese and Korean, and above.
const IDEOGRAPHS: u8 = 0xE3;
/// In place of the hash of a long piece that is not kept.
const NOT_KEPT: u64 = 0;

/// Pieces that came before, and room for others.
pub(crate) struct Batch {
    keys: Box<[Key; AT_ONCE]>,
    /// Of short pieces [`Key::quick_hash`], of long ones [`hash_of_long`].
    hashes: Box<[u64; AT_ONCE]>,
    /// The tokens of the pieces that are known, one after the other.
    known: Box<[TokenId; AT_ONCE * FEW + COPIED]>,
    missed: Box<[Missed; AT_ONCE]>,
    entries: Vec<Entry>,
    waiting: Vec<Waiting>,
    kept: PieceCache,
    merger: Merger,
}

/// A piece whose tokens are not among those that are known.
#[derive(Clone, Copy, Default)]
struct Missed {
    /// Its number among all pieces.
    piece: u32,
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
            keys: Box::new([Key::EMPTY; AT_ONCE]),
            hashes: Box::new([0; AT_ONCE]),
            known: Box::new([0; AT_ONCE * FEW + COPIED]),
            missed: Box::new([Missed::default(); AT_ONCE]),
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
            self.ask(text.as_bytes(), start, ends);
            let (known, missed) = self.look_up(ends.len());
            if missed == 0 {
                ids.extend_from_slice(&self.known[..known]);
            } else {
                self.encode_missed(model, text, start, ends, [known, missed], ids);
            }
            start = ends.last().copied().unwrap_or_default();
        }
    }

    /// Asks for the memory of pieces that follow one another from `start` on.
    #[inline(never)]
    fn ask(&mut self, text: &[u8], mut start: u32, ends: &[u32]) {
        let Self { keys, hashes, kept, .. } = self;
        let (keys, hashes) = (&mut **keys, &mut **hashes);
        for ((key, hash), end) in keys.iter_mut().zip(hashes).zip(ends) {
            match Key::of_short(text, start, *end) {
                Some(short) => (*key, *hash) = (short, short.quick_hash()),
                None => (*key, *hash) = (Key::LONG, hash_of_long(&text[start as usize..*end as usize])),
            }
            kept.prefetch(*hash);
            start = *end;
        }
    }

    /// Finds the tokens of so many pieces, and returns how many there are, and how many pieces are not known.
    #[inline(never)]
    fn look_up(&mut self, count: usize) -> (usize, usize) {
        let Self { keys, hashes, known, missed, kept, .. } = self;
        let (keys, hashes, known, missed) = (&**keys, &**hashes, &mut **known, &mut **missed);
        let (mut len, mut misses) = (0, 0);
        for (piece, (key, hash)) in (0..count as u32).zip(keys.iter().zip(hashes)) {
            let (ids, count) = kept.get_few(*key, *hash);
            // Always the same number, so that nothing depends on how many they are.
            known[len..=len + FEW].copy_from_slice(ids);
            missed[misses % AT_ONCE] = Missed { piece, before: len as u32 };
            len += count;
            misses += usize::from(count == 0);
        }
        (len, misses)
    }

    /// Appends the tokens of all pieces, of which some were missed.
    #[inline(never)]
    fn encode_missed(
        &mut self,
        model: &Model,
        text: &str,
        start: u32,
        ends: &[u32],
        [known, missed]: [usize; 2],
        ids: &mut Vec<TokenId>,
    ) {
        let end_of = |piece: usize| ends[piece] as usize;
        let start_of = |piece: usize| if piece == 0 { start as usize } else { end_of(piece - 1) };
        self.entries.clear();
        self.waiting.clear();
        self.merger.clear();
        let mut bytes = 0;
        for missed in &self.missed[..missed] {
            let piece = missed.piece as usize;
            match self.keys[piece] == Key::LONG {
                true => self.kept.prefetch_text(self.hashes[piece]),
                false => model.words.prefetch(self.keys[piece]),
            }
            bytes += end_of(piece) - start_of(piece);
        }
        // A piece has as many tokens as bytes at most.
        self.kept.make_room(bytes);
        for missed in 0..missed {
            let Missed { piece, before } = self.missed[missed];
            let piece = piece as usize;
            let bytes = start_of(piece)..end_of(piece);
            self.find(model, text, bytes, piece, before as usize);
        }
        self.look_up_parts(model);
        self.merger.merge(&model.merges);
        let first = ids.len();
        ids.resize(first + known + bytes + COPIED, 0);
        let len = self.write(known, &mut ids[first..]);
        ids.truncate(first + len);
        self.keep(text, &ids[first..]);
    }

    /// Finds where the tokens of a piece come from.
    #[inline]
    fn find(&mut self, model: &Model, text: &str, bytes: Range<usize>, at: usize, before: usize) {
        let key = self.keys[at];
        if key == Key::LONG {
            return self.find_long(model, text, bytes, self.hashes[at], before);
        }
        if let Some(kept) = self.kept.find(key) {
            return self.add(before, Source::Kept(kept), Keep::Nowhere);
        }
        match model.words.get(key) {
            NO_WORD => self.merge(model, &text[bytes], before, Keep::Short(key)),
            word => self.add(before, Source::Word(word), Keep::Short(key)),
        }
    }

    fn find_long(&mut self, model: &Model, text: &str, bytes: Range<usize>, hash: u64, before: usize) {
        let piece = &text[bytes.clone()];
        let (kept, keep) = match hash == NOT_KEPT {
            true => (None, Keep::Nowhere),
            false => (self.kept.find_long(piece, hash), Keep::Long { hash, start: bytes.start, end: bytes.end }),
        };
        if let Some(kept) = kept {
            self.add(before, Source::Kept(kept), Keep::Nowhere);
        } else if let Some(id) = model.long_words.get(piece) {
            self.add(before, Source::Word(id), keep);
        } else {
            self.merge(model, piece, before, keep);
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

    /// Writes the tokens of all pieces, and returns how many there are.
    #[inline]
    fn write(&mut self, known: usize, out: &mut [TokenId]) -> usize {
        let (mut len, mut done) = (0, 0);
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
        copy(&self.known[done..], known - done, out, len)
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
