//! Building the ids of messages that are rendered one after the other: those that the prompt before begins with are known.

use prefetch_index::prefetch_index;

use crate::assemble::{Detail, Rendered, Start, TokenizedPrompt};
use crate::builder::buffers::Buffers;
use crate::builder::{PromptBuilder, Shared};
use crate::conversation::{ChatMessage, Conversation};
use crate::error::Result;
use crate::render::{ByMessage, Progress, Segments};

/// So many messages are asked for before they are read.
const AHEAD: usize = 32;

/// Messages, and who renders them.
pub(super) struct Messages<'a> {
    builder: &'a PromptBuilder,
    renderer: &'a dyn ByMessage,
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
        (!is_special).then_some(Messages { builder: self, renderer, messages, detail })
    }
}

impl<'a> Messages<'a> {
    /// Builds the prompt of the conversation with these messages.
    pub(super) fn build(
        &self,
        conversation: &Conversation,
        buffers: &mut Buffers,
        segments: &mut Segments<'a>,
        prompt: &mut TokenizedPrompt,
    ) -> Result<()> {
        let Self { builder, renderer, messages, detail } = *self;
        // The memory of messages may be in no cache, nor that of their texts: it is asked for before it is read.
        (0..messages.len().min(AHEAD)).for_each(|message| prefetch_index(messages, message));
        conversation.check_others()?;
        let (messages, roles_matter) = (renderer.said(messages, builder.shared.mode), renderer.roles_matter());
        let known = buffers.assemble.messages_before(detail).common(messages, roles_matter);
        if !self.build_from(known, conversation, buffers, segments, prompt)? {
            segments.clear();
            self.build_from(Default::default(), conversation, buffers, segments, prompt)?;
        }
        Ok(())
    }

    /// The same behind those that are known; false if others do not fit behind them.
    fn build_from(
        &self,
        (known, start): (Progress, Start),
        conversation: &Conversation,
        buffers: &mut Buffers,
        segments: &mut Segments<'a>,
        prompt: &mut TokenizedPrompt,
    ) -> Result<bool> {
        let Self { builder, renderer, messages, detail } = *self;
        let Shared { mode, placeholders, assembler, .. } = &*builder.shared;
        let Buffers { message_ends: ends, assemble, .. } = buffers;
        ends.clear();
        renderer.render_from(messages, *mode, known, segments, ends)?;
        placeholders.fill(segments, conversation)?;
        let segments = segments.as_slice();
        let fits = assembler.assemble_from(start, segments, detail, assemble, prompt)?;
        if fits {
            let (messages, roles_matter) = (renderer.said(messages, *mode), renderer.roles_matter());
            assemble.set_messages(detail, &Rendered { messages, roles_matter, known, start, ends, segments });
        }
        Ok(fits)
    }
}
