//! The contents of a conversation record.

use serde_json::value::RawValue;

use crate::conversation::{Conversation, Mode};
use crate::dataset::ScoredText;
use crate::error::{ErrorKind, Result};

/// A conversation, and the other contents of its record.
#[derive(Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The record's `id` as written: a JSON string or number.
    pub id: Option<&'a RawValue>,
    /// The conversation; a text without its completion.
    pub conversation: Conversation,
    /// The continuation of a text, which a prompt to continue leaves out.
    pub completion: Option<String>,
    /// How many of the last messages are the completion of the others; none if that is not known.
    pub completion_messages: Option<usize>,
    /// How many tokens the answer may have.
    pub max_out_len: Option<u64>,
    /// The descriptions of tools, as JSON, if it is read for a server
    /// ([`ReadsFor::Server`](crate::dataset::records::ReadsFor::Server)). For a chat template the conversation has them.
    pub tools: Option<String>,
    /// Whether it is a request for a text's completion, to which servers apply no template.
    pub is_completion_request: bool,
    /// The keys of a request that say how its answer is sampled. They are not read.
    pub sampling_keys: Vec<&'static str>,
}

/// A conversation alone.
impl From<Conversation> for Record<'static> {
    fn from(conversation: Conversation) -> Self {
        Self::of(conversation)
    }
}

impl<'a> Record<'a> {
    pub(crate) fn of(conversation: Conversation) -> Self {
        Self {
            id: None,
            conversation,
            completion: None,
            completion_messages: None,
            max_out_len: None,
            tools: None,
            is_completion_request: false,
            sampling_keys: Vec::new(),
        }
    }

    /// Whether it has a completion, which a prompt to continue leaves out.
    pub(crate) fn has_completion(&self) -> bool {
        let has_text = self.completion.as_ref().is_some_and(|completion| !completion.is_empty());
        has_text || self.completion_messages.is_some_and(|messages| messages > 0)
    }

    /// The conversation of a prompt: to continue, without its completion; to score, with it, and which part of it is
    /// scored.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyConversation`] if nothing is left.
    pub fn into_conversation(self, mode: Mode) -> Result<(Conversation, ScoredText)> {
        let (conversation, scored) = match (self.conversation, self.completion) {
            (mut conversation, _) if mode == Mode::Generate => {
                let messages = match &mut conversation {
                    Conversation::Messages(messages) => Some(messages),
                    Conversation::Chat(chat) => Some(&mut chat.messages),
                    Conversation::Text(_) | Conversation::List(_) => None,
                };
                if let (Some(messages), Some(completion)) = (messages, self.completion_messages) {
                    messages.truncate(messages.len().saturating_sub(completion));
                }
                (conversation, ScoredText::Whole)
            }
            (Conversation::Text(text), Some(completion)) => {
                let scored = ScoredText::After(text.len());
                (Conversation::Text(text + &completion), scored)
            }
            (conversation, _) => {
                (conversation, self.completion_messages.map_or(ScoredText::Whole, ScoredText::Messages))
            }
        };
        if conversation.is_empty() {
            return Err(ErrorKind::EmptyConversation.into());
        }
        Ok((conversation, scored))
    }
}
