//! Which bytes of a run each of its tokens comes from.
//!
//! If the tokens' own bytes are the run's text, as nearly always with byte-level and SentencePiece vocabularies,
//! counting them is enough. If a normalizer changed the text, the encoder of a byte-level vocabulary knows where each
//! byte comes from. For anything else the classic library is used, which is forty times as slow.

use std::ops::Range;

use crate::error::{At, ErrorKind, Place, Result};
use crate::panics::caught;
use crate::tokenizer::align::align;
use crate::tokenizer::classic::Classic;
use crate::tokenizer::definition::Definition;
use crate::tokenizer::{AddedTokenMatcher, Neighbour, Run, Spelled, TokenId, Tokenizer, strip};

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
            None => match self.spelled(&run.text[self.left_of(run)], ids) {
                Spelled::Otherwise => {
                    let classic = self.load_classic()?;
                    self.try_library(|| classic.ids_with_bytes(reader, run))?
                }
                spelled => {
                    let mut offsets = Vec::with_capacity(ids.len());
                    self.spelled_offsets(run, spelled, ids, 0, &mut offsets);
                    return Ok(offsets);
                }
            },
        };
        Ok(align(ids, &reference, run.text.len()))
    }

    /// The classic library's tokenizer. One thread loads it while the others wait: it takes a hundred megabytes.
    fn load_classic(&self) -> Result<&Classic> {
        let load = || {
            let definition = Definition::read(&self.files).map_err(|error| error.to_string())?;
            caught(|| Classic::new(&definition.json.to_string())).flatten()
        };
        let classic = self.classic.get_or_init(load).as_ref();
        classic.map_err(|error| ErrorKind::UnsupportedTokenizer(error.clone())).at(Place::file(&self.place))
    }

    /// Whether the bytes of a run's tokens are certainly its text, so that none has to be looked at.
    pub(crate) fn keeps_bytes(&self, text: &str) -> bool {
        self.has_plain_bytes && self.backend.keeps_bytes(text)
    }

    /// How the bytes of a run's tokens are its text, without what its neighbours take.
    pub(crate) fn spelled(&self, text: &str, ids: &[TokenId]) -> Spelled {
        // The classic library knows better.
        if self.fallback.is_some() {
            return Spelled::Otherwise;
        }
        match self.table_for(ids.len()) {
            Some(table) => Spelled::of(text, ids, |id| table.in_text(id)),
            None => Spelled::of(text, ids, |id| self.bytes_in_text(id)),
        }
    }

    /// How many bytes a token has in a text with special tokens.
    fn lengths(&self, ids: usize) -> impl Fn(TokenId) -> usize {
        let table = self.table_for(ids);
        move |id| match table {
            Some(table) => table.len_in_text(id),
            None => self.bytes_in_text(id).map_or(0, |bytes| bytes.len()),
        }
    }

    /// Appends the bytes that each token of a run comes from, counted from where the run is said to begin.
    pub(crate) fn spelled_offsets(
        &self,
        run: Run<'_>,
        spelled: Spelled,
        ids: &[TokenId],
        begin: usize,
        out: &mut Vec<Range<usize>>,
    ) {
        let bytes = self.left_of(run);
        let text = &run.text[bytes.clone()];
        spelled.offsets(text, ids, self.lengths(ids.len()), begin + bytes.start, out);
    }

    /// Replaces each end of a piece of a run, in order, by how many tokens there are up to it.
    pub(crate) fn tokens_until(&self, run: Run<'_>, spelled: Spelled, ids: &[TokenId], ends: &mut [usize]) {
        let bytes = self.left_of(run);
        for end in ends.iter_mut() {
            *end = (*end).clamp(bytes.start, bytes.end) - bytes.start;
        }
        spelled.tokens_until(bytes.len(), ids, self.lengths(ids.len()), ends);
    }

    /// The bytes of a run that its neighbours leave.
    fn left_of(&self, run: Run<'_>) -> Range<usize> {
        if !self.neighbours_matter {
            return 0..run.text.len();
        }
        let token = |neighbour| match neighbour {
            Neighbour::Token(id) => self.added.get(&id),
            Neighbour::Edge => None,
        };
        strip(run.text, token(run.before), token(run.after))
    }
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
    fn the_classic_library_is_not_loaded_for_bytes() {
        let tokenizer = Tokenizer::demo().expect("it is embedded");
        assert_eq!(offsets(&tokenizer, "é: the"), [0..2, 2..3, 3..7]);
        // Three tokens share the octopus.
        assert_eq!(offsets(&tokenizer, "a🐙"), [0..1, 1..5, 1..5, 1..5]);
        assert_eq!(offsets(&tokenizer, "<|im_start|>user"), [0..12, 12..14, 14..16]);
        // NFC makes one character of two, whose bytes are the letter's.
        assert_eq!(offsets(&tokenizer, "e\u{301}: the"), [0..1, 3..4, 4..8]);
        assert!(tokenizer.classic.get().is_none());
    }
}
