//! What assembling prompts takes: a tokenizer, the reserved tokens, and buffers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::assemble::Reserved;
use crate::compile::Atom;
use crate::render::{Segment, TemplateCut};
use crate::run_cache::RunCache;
use crate::tokenizer::{AddSpecialTokens, AddedTokenMatcher, Scratch, TokenId, Tokenizer};

/// The tokens that are written in the place of a reserved one, if there are such.
pub(crate) type Respelled = Option<Arc<[TokenId]>>;

/// Makes prompts of segments, for one tokenizer and one set of reserved tokens.
pub(crate) struct Assembler {
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// Finds the added tokens that text may give; none where text may give all.
    pub(crate) unreserved: Option<AddedTokenMatcher>,
    pub(crate) reserved: Reserved,
    /// What is known so far of how reserved tokens are written in others.
    pub(crate) respelled: Mutex<BTreeMap<TokenId, Respelled>>,
    /// Whether content beside the template's text could merge a reserved token away, see [`come_by_merges`].
    pub(crate) own_tokens_merge: bool,
    pub(crate) special_tokens: AddSpecialTokens,
    /// Whether prompts are to be continued, so that nothing may stand after them.
    pub(crate) is_open: bool,
    /// What is still to be done about control tokens in the template's text.
    pub(crate) template_text: TemplateCut,
}

/// What is wanted beside the ids.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Detail {
    pub(crate) spans: bool,
    pub(crate) offsets: bool,
    pub(crate) text: bool,
}

impl Detail {
    pub(crate) const ALL: Self = Self { spans: true, offsets: true, text: true };
}

/// Buffers that make assembling again cheap. One per thread, for one assembler.
pub(crate) struct AssembleScratch {
    pub(super) text: String,
    pub(super) tokenizer: Scratch,
    pub(super) cache: RunCache,
    /// The length of the prompt before: a good guess at the next one's.
    pub(super) capacity: usize,
}

impl Default for AssembleScratch {
    fn default() -> Self {
        Self { text: String::new(), tokenizer: Scratch::default(), cache: RunCache::new(), capacity: 0 }
    }
}

impl Assembler {
    pub(crate) fn text(&self, segments: &[Segment<'_>]) -> String {
        let mut text = String::new();
        for segment in segments {
            match segment.atom {
                Atom::Text(piece) => text.push_str(piece),
                Atom::Token(id) => text.push_str(&self.tokenizer.id_to_token(id).unwrap_or_default()),
            }
        }
        text
    }

    /// Finds the added tokens that text may give.
    pub(super) fn finder(&self) -> &AddedTokenMatcher {
        self.unreserved.as_ref().unwrap_or(self.tokenizer.finder())
    }
}
