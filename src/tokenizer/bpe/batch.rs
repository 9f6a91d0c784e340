//! Pieces of a text, looked up and merged together: one by one, each would wait for memory.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::tokenizer::TokenId;
use crate::tokenizer::bpe::atoms::Atoms;
use crate::tokenizer::bpe::key::Key;
use crate::tokenizer::bpe::merger::Merger;
use crate::tokenizer::bpe::model::Model;
use crate::tokenizer::bpe::pieces::PieceCache;
use crate::tokenizer::bpe::words::{NO_WORD, Words};

/// So many pieces are cut before they are looked up.
pub(super) const AT_ONCE: usize = 256;
/// So many tokens are copied at once, whether they are needed or not: nothing then depends on how many they are.
const COPIED: usize = 16;
/// The first byte of characters of Chinese, Japanese and Korean, and above.
const IDEOGRAPHS: u8 = 0xE3;

/// Pieces that came before, and room for others.
pub(crate) struct Batch {
    /// Where each piece starts, and the last one ends.
    starts: Box<[u32; AT_ONCE + 1]>,
    /// The token of each piece, or [`NO_WORD`].
    words: Box<[TokenId; AT_ONCE + COPIED]>,
    /// The numbers of pieces that are none of the words that come often.
    others: Box<[u32; AT_ONCE]>,
    pieces: Box<[Piece; AT_ONCE]>,
    entries: Vec<Entry>,
    kept: PieceCache,
    merger: Merger,
    spelled: String,
}

/// A piece that is none of the words that come often.
#[derive(Clone, Copy)]
struct Piece {
    key: Key,
    hash: u64,
    /// Where it is if it is a word.
    place: usize,
    /// Its number among all pieces.
    at: usize,
}

/// A piece that is no word, or a part of one.
struct Entry {
    piece: usize,
    source: Source,
    keep: Keep,
    /// The first entry whose tokens are kept with those of this one.
    first: usize,
    /// Where its tokens are in the output.
    tokens: [usize; 2],
}

/// Where tokens come from.
enum Source {
    Nothing,
    Word(TokenId),
    Kept(usize),
    Merged(usize),
}

/// Where tokens are kept.
enum Keep {
    Nowhere,
    Short(Key, u64),
    Long { hash: u64, start: usize, end: usize },
}

impl Default for Batch {
    fn default() -> Self {
        let none = Piece { key: Key::EMPTY, hash: 0, place: 0, at: 0 };
        Self {
            starts: Box::new([0; AT_ONCE + 1]),
            words: Box::new([NO_WORD; AT_ONCE + COPIED]),
            others: Box::new([0; AT_ONCE]),
            pieces: Box::new([none; AT_ONCE]),
            entries: Vec::new(),
            kept: PieceCache::default(),
            merger: Merger::default(),
            spelled: String::new(),
        }
    }
}

impl Batch {
    /// Appends the tokens of the pieces of a text, which end there.
    pub(super) fn encode(&mut self, model: &Model, text: &str, ends: &[u32], ids: &mut Vec<TokenId>) {
        let mut start = 0;
        for ends in ends.chunks(AT_ONCE) {
            let others = self.find_words_that_come_often(&model.words, text, start, ends);
            let others = self.find_words(&model.words, text, others);
            if others == 0 {
                ids.extend_from_slice(&self.words[..ends.len()]);
            } else {
                self.encode_others(model, text, ends.len(), others, ids);
            }
            start = self.starts[ends.len()];
        }
    }

    /// Finds the words of pieces that follow one another from `start` on, and returns how many of them are none that come
    /// often.
    #[inline(never)]
    fn find_words_that_come_often(&mut self, words: &Words, text: &str, start: u32, ends: &[u32]) -> usize {
        let Self { starts, words: found, others, .. } = self;
        let (starts, found, others) = (&mut **starts, &mut **found, &mut **others);
        let (text, mut start, mut count) = (text.as_bytes(), start, 0);
        starts[0] = start;
        for (at, end) in ends[..ends.len().min(AT_ONCE)].iter().enumerate() {
            let word = words.get_often(Key::new(text, start as usize, *end as usize));
            found[at] = word;
            others[count % AT_ONCE] = at as u32;
            count += usize::from(word == NO_WORD);
            start = *end;
            starts[at + 1] = start;
        }
        count
    }

    /// Finds the words among others, so many, and returns how many are none.
    #[inline(never)]
    fn find_words(&mut self, words: &Words, text: &str, others: usize) -> usize {
        for (at, piece) in self.others[..others].iter().zip(&mut self.pieces[..]) {
            let at = *at as usize % AT_ONCE;
            let key = Key::new(text.as_bytes(), self.starts[at] as usize, self.starts[at + 1] as usize);
            let hash = match key == Key::LONG {
                true => hash_of_long(&text.as_bytes()[self.starts[at] as usize..self.starts[at + 1] as usize]),
                false => key.hash(),
            };
            *piece = Piece { key, hash, place: words.place(hash), at };
        }
        let mut left = 0;
        for other in 0..others {
            let piece = self.pieces[other];
            let word = words.get_at(piece.place, piece.key);
            self.words[piece.at] = word;
            self.pieces[left] = piece;
            left += usize::from(word == NO_WORD);
        }
        left
    }

    /// Appends the tokens of all pieces, of which so many are no words.
    #[inline(never)]
    fn encode_others(&mut self, model: &Model, text: &str, count: usize, others: usize, ids: &mut Vec<TokenId>) {
        let bytes = (self.starts[count] - self.starts[0]) as usize;
        self.entries.clear();
        self.merger.clear();
        // A piece has as many tokens as bytes at most.
        self.kept.make_room(bytes);
        self.pieces[..others].iter().for_each(|piece| self.kept.prefetch_index(piece.hash));
        self.pieces[..others].iter().for_each(|piece| self.kept.prefetch(piece.hash));
        for other in 0..others {
            self.find(model, text, self.pieces[other]);
        }
        self.merger.merge(&model.merges);
        let first = ids.len();
        ids.resize(first + bytes + COPIED, 0);
        let len = self.write(count, &mut ids[first..]);
        ids.truncate(first + len);
        self.keep(text, &ids[first..]);
    }

    /// Finds where the tokens of a piece come from.
    #[inline]
    fn find(&mut self, model: &Model, text: &str, Piece { key, hash, at, .. }: Piece) {
        let [start, end] = [self.starts[at], self.starts[at + 1]].map(|at| at as usize);
        let piece = &text[start..end];
        // A long one of ideographs is a part of a sentence, and hardly comes again.
        let (kept, keep) = match key == Key::LONG {
            true if piece.as_bytes()[0] >= IDEOGRAPHS => (None, Keep::Nowhere),
            true => (self.kept.find_long(piece, hash), Keep::Long { hash, start, end }),
            false => (self.kept.find(key, hash), Keep::Short(key, hash)),
        };
        if let Some(kept) = kept {
            return self.add(at, Source::Kept(kept), Keep::Nowhere);
        }
        if key == Key::LONG
            && let Some(id) = model.long_entry(piece, &mut self.spelled)
        {
            return self.add(at, Source::Word(id), keep);
        }
        match model.atoms().filter(|_| !piece.is_ascii()) {
            None => {
                model.symbols.append(piece, self.merger.symbols());
                let merged = self.merger.add();
                self.add(at, Source::Merged(merged), keep);
            }
            Some(atoms) => {
                let first = self.entries.len();
                self.find_parts(model, atoms, piece, at);
                match &mut self.entries[first..] {
                    [whole] => whole.keep = keep,
                    _ => {
                        self.add(at, Source::Nothing, keep);
                        self.entries.last_mut().expect("one was just added").first = first;
                    }
                }
            }
        }
    }

    /// The same for a piece with characters of several bytes: it is cut between them where that changes nothing.
    fn find_parts(&mut self, model: &Model, atoms: &Atoms, piece: &str, at: usize) {
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
                self.find_part(model, piece, start..begin, at);
                start = begin;
            }
            match atom {
                Some(id) => self.merger.symbols().push(id),
                None => model.symbols.append_bytes(&bytes[begin..end], self.merger.symbols()),
            }
            last = Some(c).filter(|_| is_whole);
        }
        self.find_part(model, piece, start..piece.len(), at);
    }

    /// A part of a piece, whose symbols wait to be merged.
    #[inline]
    fn find_part(&mut self, model: &Model, piece: &str, part: Range<usize>, at: usize) {
        let (source, keep) = match self.merger.next_piece() {
            [id] => (Some(Source::Word(*id)), Keep::Nowhere),
            // The whole piece was looked up before.
            _ if part.len() == piece.len() => (None, Keep::Nowhere),
            _ => match Key::new(piece.as_bytes(), part.start, part.end) {
                Key::LONG => (None, Keep::Nowhere),
                key => {
                    let hash = key.hash();
                    let word = if model.ignore_merges { NO_WORD } else { model.words.get(key) };
                    let kept = || self.kept.find(key, hash).map(Source::Kept);
                    (if word == NO_WORD { kept() } else { Some(Source::Word(word)) }, Keep::Short(key, hash))
                }
            },
        };
        match source {
            Some(source) => {
                self.merger.forget_next();
                self.add(at, source, Keep::Nowhere);
            }
            None => {
                let merged = self.merger.add();
                self.add(at, Source::Merged(merged), keep);
            }
        }
    }

    #[inline]
    fn add(&mut self, piece: usize, source: Source, keep: Keep) {
        let first = self.entries.len();
        self.entries.push(Entry { piece, source, keep, first, tokens: [0; 2] });
    }

    /// Writes the tokens of all pieces, and returns how many there are.
    #[inline]
    fn write(&mut self, count: usize, out: &mut [TokenId]) -> usize {
        let (mut len, mut done) = (0, 0);
        for entry in &mut self.entries {
            if entry.piece > done {
                len = copy(&self.words[done..], entry.piece - done, out, len);
            }
            done = entry.piece + 1;
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
        copy(&self.words[done..], count - done, out, len)
    }

    /// Keeps what was found for the first time.
    #[inline]
    fn keep(&mut self, text: &str, tokens: &[TokenId]) {
        for entry in &self.entries {
            let tokens = || &tokens[self.entries[entry.first].tokens[0]..entry.tokens[1]];
            // It may have come twice.
            match entry.keep {
                Keep::Short(key, hash) if self.kept.find(key, hash).is_none() => self.kept.put(key, hash, tokens()),
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

fn hash_of_long(piece: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(piece)
}
