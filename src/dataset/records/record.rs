//! What a record of conversations holds.

use crate::conversation::{Conversation, Mode};
use crate::dataset::{RowPrompt, ScoredText};
use crate::error::{ErrorKind, Result};

/// A conversation, and what its record says beside it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The record's `id` as it is written: a JSON string or number.
    pub id: Option<&'a str>,
    /// The conversation; a text without its completion.
    pub conversation: Conversation,
    /// What goes on behind a text, which is no part of what a model is to continue.
    pub completion: Option<String>,
    /// The descriptions of tools, as JSON. Only where [`RecordReader::for_server`] takes them.
    pub tools: Option<String>,
}

impl<'a> Record<'a> {
    pub(crate) fn of(conversation: Conversation) -> Self {
        Self { id: None, conversation, completion: None, tools: None }
    }

    /// The prompt: to continue, without its completion; to score, with it, which is what is scored.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyConversation`] if nothing is left.
    pub fn into_prompt(self, mode: Mode) -> Result<RowPrompt> {
        let Self { conversation, completion, tools, .. } = self;
        let (conversation, scored) = match (conversation, completion) {
            (Conversation::Text(text), Some(completion)) if mode == Mode::Score => {
                let scored = ScoredText::After(text.len());
                (Conversation::Text(text + &completion), scored)
            }
            (conversation, _) => (conversation, ScoredText::Whole),
        };
        if conversation.is_empty() {
            return Err(ErrorKind::EmptyConversation.into());
        }
        Ok(RowPrompt { scored, tools, ..conversation.into() })
    }
}
