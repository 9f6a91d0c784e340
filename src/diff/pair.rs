//! Two builders that write the same conversations.

use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::error::Result;
use crate::tokenizer::TokenId;

/// Two builders.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) ours: PromptBuilder,
    pub(super) theirs: PromptBuilder,
}

/// The ids of both prompts, or why there are none.
pub(super) type Prompts = [Result<Vec<TokenId>>; 2];

impl Pair {
    pub(super) fn prompts(&self, conversation: &Conversation) -> Prompts {
        [&self.ours, &self.theirs].map(|builder| builder.build(conversation).map(|prompt| prompt.input_ids))
    }

    /// Whether both write the same.
    pub(super) fn agree(&self, conversation: &Conversation) -> bool {
        matches!(self.prompts(conversation), [Ok(ours), Ok(theirs)] if ours == theirs)
    }
}
