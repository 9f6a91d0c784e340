//! Buffers and caches that make repeated assembling cheap.

use crate::assemble::ahead::Ahead;
use crate::assemble::beginning::Beginning;
use crate::assemble::detail::Detail;
use crate::assemble::last_too_long::LastTooLong;
use crate::assemble::messages_before::{MessagesBefore, Rendered};
use crate::tokenizer::{RunCache, Scratch};

/// Buffers that make repeated assembling cheap. One per thread, for one assembler.
pub(crate) struct AssembleScratch {
    pub(super) text: String,
    pub(super) tokenizer: Scratch,
    pub(crate) cache: RunCache,
    pub(super) ahead: Ahead,
    /// The beginnings of whole prompts, and of shortened ones. In one place, each would forget what the other began with.
    pub(super) beginnings: [Beginning; 2],
    /// The last prompt that was to be shortened.
    pub(super) last_too_long: LastTooLong,
    /// How many prompts one after the other were longer than those of which spans are not wanted.
    pub(super) longer_count: u32,
    /// How many tokens and spans the previous prompt had, as a guess for the next one's.
    pub(super) capacity: usize,
    pub(super) spans_capacity: usize,
}

impl AssembleScratch {
    /// The messages that the last such prompt began with.
    pub(crate) fn messages_before(&self, detail: Detail) -> &MessagesBefore {
        self.beginnings[usize::from(detail.is_shortened)].messages()
    }

    /// Takes those of the prompt that was just assembled.
    pub(crate) fn set_messages(&mut self, detail: Detail, rendered: &Rendered<'_>) {
        self.beginnings[usize::from(detail.is_shortened)].set_messages(rendered);
    }
}

impl Default for AssembleScratch {
    fn default() -> Self {
        Self {
            text: String::new(),
            tokenizer: Scratch::default(),
            cache: RunCache::new(),
            ahead: Ahead::default(),
            beginnings: Default::default(),
            last_too_long: LastTooLong::default(),
            longer_count: 0,
            capacity: 0,
            spans_capacity: 0,
        }
    }
}
