//! What a template leaves out of a conversation because it declares so, or writes in another way than was meant.

use crate::compile::CompiledTemplate;
use crate::conversation::Conversation;
use crate::render::last_messages::LastMessages;

/// What a format leaves out of a conversation, or writes in another way than was meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omissions<'c> {
    /// The role of each message that is left out.
    pub roles: Vec<&'c str>,
    /// The template's roles whose default prompt is left out, because no message is of the role that it is merged into.
    pub default_prompts: Vec<String>,
    /// How many answers lose their thoughts.
    pub thoughts: u64,
    /// Whether the format is not applied at all, because the conversation is a string.
    pub is_string: bool,
    /// What a chat template does not read: `tools`, `documents`, `tool_calls`, or one of its variables.
    pub unread: Vec<&'c str>,
    /// How many strings of a prompt list have no role to speak them where only messages go.
    pub strings: u64,
    /// How many calls of tools have arguments that are JSON text already, which the template would JSON-encode a second time.
    pub encoded_arguments: u64,
}

/// A message: its position, its role, and the template's role that speaks it.
pub(super) type MessageWithRole<'c> = (u32, &'c str, Option<usize>);

impl<'c> Omissions<'c> {
    pub(super) fn of(
        template: &CompiledTemplate,
        user: Option<usize>,
        conversation: &'c Conversation,
        messages: &[MessageWithRole<'c>],
    ) -> Self {
        let mut omissions = Self::default();
        let last = LastMessages::of(user, template.roles.len(), messages.iter().map(|(i, _, role)| (*i, *role)));
        for &(index, name, role) in messages {
            let Some(role) = role.map(|role| &template.roles[role]) else { continue };
            if role.silent {
                omissions.roles.push(name);
            }
            let text = conversation.content_at(index as usize).and_then(|said| said.only_text()).unwrap_or_default();
            let has_thoughts = role.thoughts.as_ref().is_some_and(|thoughts| thoughts.are_in(text));
            omissions.thoughts += u64::from(has_thoughts && !last.is_after_user(index));
        }
        omissions
    }
}
