//! The reserved tokens that the template's own text produces, whatever content is next to it.
//!
//! The template's text is cut only at tokens that the tokenizer finds in text. If the user reserves an entry of the
//! vocabulary, or white space, it is produced by merges, and content next to it could merge it away or produce it.

use std::collections::hash_map::Entry;
use std::ops::Range;

use foldhash::{HashMap, HashMapExt};

use crate::assemble::owners::texts;
use crate::assemble::{Assembler, Reserved};
use crate::error::Result;
use crate::render::Segment;
use crate::tokenizer::{AddedToken, Cut, Run, Scratch, TokenId, Tokenizer};

/// Represents content: a private-use character, which merges with nothing.
const ANY_CONTENT: &str = "\u{10FFFD}";

/// Reserved tokens of a run with their bytes in the run, in order.
#[derive(Default)]
pub(super) struct OwnTokens(Vec<(TokenId, Range<usize>)>);

impl OwnTokens {
    pub(super) fn contains(&self, id: TokenId, bytes: &Range<usize>) -> bool {
        let found = self.0.binary_search_by_key(&bytes.start, |(_, at)| at.start);
        found.is_ok_and(|at| (self.0[at].0, &self.0[at].1) == (id, bytes))
    }

    /// How many bytes of the run each one has.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(_, bytes)| bytes.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of them are among these tokens.
    fn are_among(&self, ids: &[TokenId], offsets: &[Range<usize>]) -> bool {
        let mut tokens = ids.iter().zip(offsets);
        self.0.iter().all(|(id, bytes)| tokens.any(|(other, at)| other == id && at == bytes))
    }

    /// A run of this length, cut at them.
    pub(super) fn cuts(&self, length: usize) -> Vec<Cut> {
        let (mut cuts, mut start) = (Vec::new(), 0);
        for (id, bytes) in &self.0 {
            cuts.push(Cut { token: None, bytes: start..bytes.start });
            cuts.push(Cut { token: Some(*id), bytes: bytes.clone() });
            start = bytes.end;
        }
        cuts.push(Cut { token: None, bytes: start..length });
        cuts.retain(|cut| !cut.bytes.is_empty());
        cuts
    }
}

/// Whether any reserved token is produced by merges and not found as an added token.
pub(crate) fn come_by_merges(reserved: &Reserved, tokenizer: &Tokenizer) -> bool {
    reserved.iter().any(|id| tokenizer.added_token(id).is_none_or(AddedToken::is_ordinary_text))
}

impl Assembler {
    /// The reserved tokens that the template's text in this run produces with any content next to it; none if they are
    /// simply those of the run.
    #[inline]
    pub(super) fn own_tokens(&self, run: Run<'_>, pieces: &[Segment<'_>]) -> Result<Option<OwnTokens>> {
        if self.own_tokens_merge { self.merged_tokens(run, pieces) } else { Ok(None) }
    }

    fn merged_tokens(&self, run: Run<'_>, pieces: &[Segment<'_>]) -> Result<Option<OwnTokens>> {
        let is_content = |piece: &Segment| piece.part.is_content();
        if !pieces.iter().any(is_content) {
            return Ok(None);
        }
        let (mut own, mut start, mut scratch) = (OwnTokens::default(), 0, Scratch::default());
        // A template says the same again and again.
        let mut known: HashMap<(String, [&str; 2]), OwnTokens> = HashMap::new();
        for group in pieces.chunk_by(|a, b| is_content(a) == is_content(b)) {
            let length: usize = texts(group).map(|(text, _)| text.len()).sum();
            if !is_content(&group[0]) {
                let before = if group.as_ptr() == pieces.as_ptr() { "" } else { ANY_CONTENT };
                let after = if group.as_ptr_range().end == pieces.as_ptr_range().end { "" } else { ANY_CONTENT };
                let text = texts(group).map(|(text, _)| text).collect();
                let reserved = match known.entry((text, [before, after])) {
                    Entry::Occupied(found) => found.into_mut(),
                    Entry::Vacant(unknown) => {
                        let (text, beside) = unknown.key();
                        let found = self.reserved_in(text, *beside, run, &mut scratch)?;
                        unknown.insert(found)
                    }
                };
                own.0.extend(reserved.0.iter().map(|(id, bytes)| (*id, start + bytes.start..start + bytes.end)));
            }
            start += length;
        }
        Ok(Some(own))
    }

    /// The reserved tokens of a text with these neighbours.
    fn reserved_in(&self, text: &str, beside: [&str; 2], run: Run<'_>, scratch: &mut Scratch) -> Result<OwnTokens> {
        let joined = [beside[0], text, beside[1]].concat();
        let run = Run { text: &joined, ..run };
        let mut ids = Vec::new();
        self.tokenizer.encode_run(self.finder(), run, scratch, &mut ids)?;
        if !self.reserved.any(&ids) {
            return Ok(OwnTokens::default());
        }
        let offsets = self.tokenizer.offsets(self.finder(), run, &ids)?;
        let from = beside[0].len();
        let reserved = ids.into_iter().zip(offsets).filter(|(id, bytes)| {
            self.reserved.contains(*id) && bytes.start >= from && bytes.end <= from + text.len() && !bytes.is_empty()
        });
        Ok(OwnTokens(reserved.map(|(id, bytes)| (id, bytes.start - from..bytes.end - from)).collect()))
    }

    /// Whether content merged any of the template's own reserved tokens away.
    pub(super) fn is_merged_away(&self, own: &OwnTokens, run: Run<'_>, ids: &[TokenId]) -> Result<bool> {
        let offsets = self.tokenizer.offsets(self.finder(), run, ids)?;
        Ok(!own.are_among(ids, &offsets))
    }
}
