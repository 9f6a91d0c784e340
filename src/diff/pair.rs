//! Two builders that write the same conversations.

use crate::builder::PromptBuilder;
use crate::conversation::{Conversation, Mode};
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
    /// The prompts of both. For a prompt to continue, a last answer is left out, because the model gives it.
    pub(super) fn prompts(&self, conversation: &Conversation) -> Prompts {
        let asked = (self.ours.mode() == Mode::Generate).then(|| without_answer(conversation)).flatten();
        let conversation = asked.as_ref().unwrap_or(conversation);
        [&self.ours, &self.theirs].map(|builder| builder.build(conversation).map(|prompt| prompt.input_ids))
    }

    /// Whether both write the same.
    pub(super) fn agree(&self, conversation: &Conversation) -> bool {
        matches!(self.prompts(conversation), [Ok(ours), Ok(theirs)] if ours == theirs)
    }
}

fn without_answer(conversation: &Conversation) -> Option<Conversation> {
    let (last, before) = conversation.messages()?.split_last()?;
    (last.role == "assistant").then(|| Conversation::Messages(before.to_vec()))
}
