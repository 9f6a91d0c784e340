//! Building the ids of messages that are rendered one after the other: those that the prompt before begins with are known.

use prefetch_index::prefetch_index;

use crate::assemble::{Detail, Rendered, Start, TokenizedPrompt};
use crate::builder::buffers::Buffers;
use crate::builder::{PromptBuilder, Shared};
use crate::conversation::{ChatMessage, Conversation};
use crate::error::Result;
use crate::render::{ByMessage, Progress, Segments};

/// The number of messages that are asked for before they are read.
const AHEAD: usize = 32;

/// The messages of a conversation, and who renders them.
pub(super) struct Messages<'a> {
    builder: &'a PromptBuilder,
    renderer: &'a dyn ByMessage,
    conversation: &'a Conversation,
    messages: &'a [ChatMessage],
    detail: Detail,
}

impl PromptBuilder {
    /// Whether a conversation's prompt can be built this way.
    pub(super) fn by_message<'a>(&'a self, conversation: &'a Conversation, detail: Detail) -> Option<Messages<'a>> {
        let renderer = self.shared.renderer.by_message()?;
        let Conversation::Messages(messages) = conversation else { return None };
        let Shared { renderer: whole, assembler, open_answer, .. } = &*self.shared;
        let is_special = self.continue_final_message || *open_answer || whole.writes_all_keys() || assembler.cuts();
        (!is_special).then_some(Messages { builder: self, renderer, conversation, messages, detail })
    }
}

impl<'a> Messages<'a> {
    /// Builds the prompt of the conversation.
    pub(super) fn build(
        &self,
        buffers: &mut Buffers,
        segments: &mut Segments<'a>,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        let Self { builder, renderer, messages, detail, .. } = *self;
        // The memory of messages may be in no cache, nor that of their texts: it is asked for before it is read.
        (0..messages.len().min(AHEAD)).for_each(|message| prefetch_index(messages, message));
        let (said, roles_matter) = (renderer.rendered_messages(messages, builder.shared.mode), renderer.roles_matter());
        let (mut known, mut start) = buffers.assemble.messages_before(detail).common(said, roles_matter);
        if !self.build_from(known, start, buffers, segments, prompt)? {
            (known, start) = Default::default();
            segments.clear();
            self.build_from(known, start, buffers, segments, prompt)?;
        }
        let (ends, segments) = (&buffers.message_ends, segments.as_slice());
        buffers.assemble.set_messages(detail, &Rendered { messages: said, roles_matter, known, start, ends, segments });
        Ok(())
    }

    /// Builds a prompt after the messages that are known. Returns false if the others do not fit after them.
    fn build_from(
        &self,
        known: Progress,
        start: Start,
        buffers: &mut Buffers,
        segments: &mut Segments<'a>,
        prompt: &mut TokenizedPrompt,
    ) -> Result<bool> {
        let Self { builder, renderer, conversation, messages, detail } = *self;
        let Shared { mode, assembler, .. } = &*builder.shared;
        let Buffers { message_ends: ends, assemble, .. } = buffers;
        ends.clear();
        builder.render_by(conversation, segments, |segments| {
            renderer.render_from(messages, *mode, known, segments, ends)
        })?;
        assembler.assemble_from(start, segments.as_slice(), detail, assemble, prompt)
    }
}
