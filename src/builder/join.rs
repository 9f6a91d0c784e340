//! The method that metatok replaces: render, join, encode the string.

use std::fmt;

use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::render::TextArena;
use crate::tokenizer::TokenId;

/// Builds a prompt with the method that metatok replaces: render, join, encode the string. For measuring; from
/// [`PromptBuilder::join_session`].
pub struct JoinSession<'b> {
    builder: &'b PromptBuilder,
    scratch: crate::tokenizer::Scratch,
    ids: Vec<TokenId>,
}

impl fmt::Debug for JoinSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSession").field("builder", self.builder).finish_non_exhaustive()
    }
}

impl PromptBuilder {
    /// Builds prompts with the method that metatok replaces, for comparison with [`PromptBuilder::session`].
    pub fn join_session(&self) -> JoinSession<'_> {
        JoinSession { builder: self, scratch: crate::tokenizer::Scratch::default(), ids: Vec::new() }
    }
}

impl JoinSession<'_> {
    /// How many tokens the joined string has.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn encode(&mut self, conversation: &Conversation) -> Result<usize> {
        let conversation = self.builder.prepared(conversation)?;
        let arena = TextArena::default();
        let segments = self.builder.segments(&conversation, &arena)?;
        let text = self.builder.shared.assembler.text(&segments);
        self.ids.clear();
        self.builder.tokenizer().encode_into(&text, &mut self.scratch, &mut self.ids)?;
        Ok(self.ids.len())
    }
}
