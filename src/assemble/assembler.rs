//! Everything that assembling prompts needs: a tokenizer and the reserved tokens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::assemble::Reserved;
use crate::compile::Atom;
use crate::error::{At, Fault, OfFile, Place, Result};
use crate::render::{Part, Segment, TemplateCut};
use crate::tokenizer::{AddSpecialTokens, AddedTokenMatcher, TokenId, Tokenizer};

/// The tokens that are written instead of a reserved one, if there are any.
pub(crate) type Respelled = Option<Arc<[TokenId]>>;

/// Assembles prompts from segments, for one tokenizer and one set of reserved tokens.
pub(crate) struct Assembler {
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// Finds the added tokens that text may produce; none if text may produce all.
    pub(crate) unreserved: Option<AddedTokenMatcher>,
    pub(crate) reserved: Reserved,
    /// Those of them that merges may make, because they are entries of the vocabulary.
    pub(crate) reserved_entries: Reserved,
    /// Those that are reserved by name.
    pub(crate) listed: Vec<TokenId>,
    /// How reserved tokens are written in other tokens: those that were asked for.
    pub(crate) respelled: Mutex<BTreeMap<TokenId, Respelled>>,
    /// Whether content next to the template's text could merge a reserved token away, see [`come_by_merges`].
    pub(crate) own_tokens_merge: bool,
    pub(crate) special_tokens: AddSpecialTokens,
    pub(crate) special_tokens_of_strings: AddSpecialTokens,
    /// Whether prompts are to be continued, so nothing may come after them.
    pub(crate) is_open: bool,
    /// What is still to be done about control tokens in the template's text.
    pub(crate) template_cut: TemplateCut,
}

impl Assembler {
    /// The text of segments.
    pub(crate) fn text(&self, segments: &[Segment<'_>]) -> String {
        let mut text = Vec::new();
        self.write_text(segments, &mut text);
        String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Writes the bytes of the text of segments.
    pub(super) fn write_text(&self, segments: &[Segment<'_>], text: &mut Vec<u8>) {
        let lengths =
            segments.iter().map(|segment| if let Atom::Text(piece) = segment.atom { piece.len() } else { 16 });
        text.reserve(lengths.sum());
        for segment in segments {
            match segment.atom {
                Atom::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                Atom::Token(id) => self.write_token(id, text),
            }
        }
    }

    /// How many bytes a token has in the text. Out of line, because most prompts do not ask for it.
    #[cold]
    pub(super) fn length_in_text(&self, id: TokenId) -> usize {
        self.tokenizer.bytes_in_text(id).map_or(0, |bytes| bytes.len())
    }

    /// Writes the bytes of a token.
    pub(super) fn write_token(&self, id: TokenId, text: &mut Vec<u8>) {
        text.extend_from_slice(&self.tokenizer.bytes_in_text(id).unwrap_or_default());
    }

    /// Checks the ids of your own renderers, which may be anything. Those of compiled templates are tokens. Of earlier
    /// answers only the range is checked, while they are assembled: looking for gaps in a vocabulary takes memory, which
    /// answers of thousands of tokens do not need.
    pub(super) fn check_ids(&self, segments: &[Segment<'_>]) -> Result<()> {
        if self.template_cut != TemplateCut::Uncut {
            return Ok(());
        }
        segments.iter().try_for_each(|segment| match segment.atom {
            Atom::Token(id) => self.check_id(id, segment.part),
            Atom::Text(_) => Ok(()),
        })
    }

    #[cold]
    pub(super) fn check_id(&self, id: TokenId, part: Part) -> Result<()> {
        let id = self.tokenizer.check_id(id.into()).map(drop);
        match part.message {
            Some(message) => id.at(Place::Message(message as usize)),
            None => id.at(Place::other("the renderer")).of_file(Fault::Model),
        }
    }

    /// Whether segments are cut at control tokens in the template's text before they are encoded.
    pub(crate) fn cuts(&self) -> bool {
        self.template_cut != TemplateCut::Cut && self.unreserved.is_some()
    }

    /// Whether a run with these ids may be kept. One that produces reserved tokens is not: next time the same text may have
    /// another origin.
    pub(super) fn is_clean(&self, ids: &[TokenId]) -> bool {
        self.unreserved.is_none() || !self.reserved_entries.any(ids)
    }

    /// Finds the added tokens that text may produce.
    pub(super) fn finder(&self) -> &AddedTokenMatcher {
        self.unreserved.as_ref().unwrap_or(self.tokenizer.finder())
    }
}
