//! What a conversation says, message by message, whichever form it has.

use crate::conversation::{ChatMessage, Item, Message, Prompt, openai_role};
use crate::error::{At, Error, ErrorKind, Result};

/// A message as conversation templates know it.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) role: &'a str,
    pub(super) content: &'a str,
    pub(super) images: usize,
    /// Its place in the conversation.
    pub(super) index: usize,
}

pub(super) fn messages(messages: &[ChatMessage]) -> Vec<Said<'_>> {
    let said = messages.iter().enumerate().map(|(index, ChatMessage { role, content, images })| Said {
        role: role.as_str(),
        content,
        images: *images,
        index,
    });
    said.collect()
}

/// The messages of a prompt list: HUMAN, BOT and SYSTEM are user, assistant and system, and a system that
/// is not the first speaks by its fallback role.
pub(super) fn items(items: &[Item]) -> Result<Vec<Said<'_>>> {
    let mut said: Vec<Said<'_>> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Marker(_) => {}
            Item::Text(text) if text.is_empty() => {}
            Item::Text(_) => {
                let what = "a string that nobody says has no place in a conversation template; give it a role";
                return Err(Error::from(ErrorKind::Template(what.into())).at(format_args!("item {index}")));
            }
            Item::Message(message) => {
                said.push(of(message, index, said.is_empty()).at(format_args!("item {index}"))?);
            }
        }
    }
    Ok(said)
}

fn of(message: &Message, index: usize, is_first: bool) -> Result<Said<'_>> {
    if message.begin.is_some() || message.end.is_some() || message.generate.is_some() {
        let what = "begin, end and generate of a message belong to meta templates; leave them out";
        return Err(ErrorKind::Template(what.into()).into());
    }
    let role = match (message.role.as_str(), message.fallback_role.as_deref()) {
        ("SYSTEM", Some(fallback)) if !is_first => fallback,
        (role, _) => role,
    };
    let role = openai_role(role).unwrap_or(role);
    let content = match &message.prompt {
        Prompt::Text(prompt) => prompt.as_str(),
        Prompt::Absent | Prompt::Null => "",
    };
    Ok(Said { role, content, images: 0, index })
}
