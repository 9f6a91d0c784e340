//! Which bytes of a run each of its tokens comes from.
//!
//! If the tokens' own bytes are the run's text, as nearly always with byte-level and SentencePiece vocabularies,
//! counting them is enough. If a normalizer changed the text, or a token's bytes are unknown, the classic library is
//! used, which is forty times as slow.

use std::ops::Range;

use crate::error::{At, ErrorKind, Place, Result};
use crate::panics::caught;
use crate::tokenizer::align::align;
use crate::tokenizer::classic::Classic;
use crate::tokenizer::{AddedTokenMatcher, ByteTable, Neighbour, Run, TokenId, Tokenizer, strip};

impl Tokenizer {
    /// The bytes of the run that each of its `ids` comes from: whole characters, so all tokens that share a character
    /// have its bytes.
    pub(crate) fn offsets(
        &self,
        finder: &AddedTokenMatcher,
        run: Run<'_>,
        ids: &[TokenId],
    ) -> Result<Vec<Range<usize>>> {
        let reader = self.reader(finder);
        let own = self.try_library(|| self.backend.encode_run_with_offsets(reader, run).transpose())?;
        let reference = match own {
            Some(own) => own,
            None => match self.counted_offsets(run, ids) {
                Some(offsets) => return Ok(offsets),
                None => {
                    let classic = self.load_classic()?;
                    self.try_library(|| classic.ids_with_bytes(reader, run))?
                }
            },
        };
        Ok(align(ids, &reference, run.text.len()))
    }

    /// The classic library's tokenizer. One thread loads it while the others wait: it takes a hundred megabytes.
    fn load_classic(&self) -> Result<&Classic> {
        let classic = self.classic.get_or_init(|| caught(|| Classic::new(&self.json)).flatten()).as_ref();
        classic.map_err(|error| ErrorKind::UnsupportedTokenizer(error.clone())).at(Place::file(&self.place))
    }

    /// The offsets from the tokens' own bytes; none unless these are exactly the run's text, except for one space that
    /// the tokenizer may have put before it.
    fn counted_offsets(&self, run: Run<'_>, ids: &[TokenId]) -> Option<Vec<Range<usize>>> {
        let bytes = if self.neighbours_matter { self.left_of(run) } else { 0..run.text.len() };
        let text = &run.text[bytes.clone()];
        let table = self.byte_table();
        let count = |prefix| count(table, text, bytes.start, prefix, ids);
        count("").or_else(|| count(" "))
    }

    /// The bytes of a run that its neighbours leave.
    fn left_of(&self, run: Run<'_>) -> Range<usize> {
        let token = |neighbour| match neighbour {
            Neighbour::Token(id) => self.added.get(&id),
            Neighbour::Edge => None,
        };
        strip(run.text, token(run.before), token(run.after))
    }
}

/// The offsets of tokens whose bytes are `prefix` and `text`, if the text is at `offset` in its run.
fn count(table: &ByteTable, text: &str, offset: usize, prefix: &str, ids: &[TokenId]) -> Option<Vec<Range<usize>>> {
    let mut offsets = Vec::with_capacity(ids.len());
    let (mut prefix, mut end) = (prefix.as_bytes(), 0);
    for &id in ids {
        let mut token = table.get(id).filter(|token| !token.is_empty()).or_else(|| table.special(id))?;
        if !prefix.is_empty() {
            token = token.strip_prefix(prefix)?;
            prefix = b"";
        }
        let start = end;
        end += token.len();
        if text.as_bytes().get(start..end)? != token {
            return None;
        }
        let whole = whole_characters(text, start..end);
        offsets.push(offset + whole.start..offset + whole.end);
    }
    (end == text.len()).then_some(offsets)
}

/// The characters with these bytes; if there are no bytes, the character at this position.
fn whole_characters(text: &str, bytes: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = bytes;
    if start == end && end < text.len() {
        end += 1;
    }
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::Scratch;

    fn offsets(tokenizer: &Tokenizer, text: &str) -> Vec<Range<usize>> {
        let run = Run { text, before: Neighbour::Edge, after: Neighbour::Edge };
        let mut ids = Vec::new();
        tokenizer.encode_run(tokenizer.finder(), run, &mut Scratch::default(), &mut ids).expect("it encodes");
        tokenizer.offsets(tokenizer.finder(), run, &ids).expect("offsets are known")
    }

    #[test]
    fn the_classic_library_is_loaded_only_for_text_that_was_changed() {
        let tokenizer = Tokenizer::demo().expect("it is embedded");
        assert_eq!(offsets(&tokenizer, "é: the"), [0..2, 2..3, 3..7]);
        // Three tokens share the octopus.
        assert_eq!(offsets(&tokenizer, "a🐙"), [0..1, 1..5, 1..5, 1..5]);
        assert_eq!(offsets(&tokenizer, "<|im_start|>user"), [0..12, 12..14, 14..16]);
        assert!(tokenizer.classic.get().is_none());
        // NFC makes one character of two.
        assert_eq!(offsets(&tokenizer, "e\u{301}: the")[1..], [3..4, 4..8]);
        assert!(tokenizer.classic.get().is_some());
    }
}
