//! What OpenCompass's `PromptList` can do: be filled, and have a token replaced.

use crate::conversation::{Conversation, Item, Message, Prompt};
use crate::dataset::fill::{Substitution, fill};
use crate::dataset::row::Fields;
use crate::error::{ErrorKind, Result};

/// Fills the strings and the prompts of the messages; what else a message has stays as it is.
pub(crate) fn fill_items(items: Vec<Item>, fields: Fields<'_>, how: Substitution) -> Vec<Item> {
    let filled = |text: String| match fill(&text, fields, how) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(filled) => filled,
    };
    let item = |item| match item {
        Item::Text(text) => Item::Text(filled(text)),
        Item::Message(mut message) => {
            if let Prompt::Text(prompt) = message.prompt {
                message.prompt = Prompt::Text(filled(prompt));
            }
            Item::Message(message)
        }
        marker @ Item::Marker(_) => marker,
    };
    items.into_iter().map(item).collect()
}

/// Replaces a token in every string and prompt. A list can only stand in the place of a string: its
/// items then come between the string's pieces.
///
/// # Errors
/// [`ErrorKind::Template`] if the token stands in a prompt and a list is to be put there.
pub(crate) fn replace(items: Vec<Item>, token: &str, with: &Conversation) -> Result<Vec<Item>> {
    let mut replaced = Vec::with_capacity(items.len());
    for item in items {
        match (item, with) {
            (Item::Text(text), Conversation::Text(with)) => replaced.push(Item::Text(text.replace(token, with))),
            (Item::Text(text), Conversation::List(list)) => {
                let mut pieces = text.split(token);
                let push = |piece: &str, replaced: &mut Vec<Item>| {
                    if !piece.is_empty() {
                        replaced.push(Item::Text(piece.to_owned()));
                    }
                };
                push(pieces.next().unwrap_or_default(), &mut replaced);
                for piece in pieces {
                    replaced.extend(list.iter().cloned());
                    push(piece, &mut replaced);
                }
            }
            // A quirk of the reference: the string is gone, whether it has the token or not.
            (Item::Text(_), Conversation::Messages(_)) => {}
            (Item::Message(Message { prompt: Prompt::Text(prompt), role, .. }), with)
                if prompt.contains(token) && !matches!(with, Conversation::Text(_)) =>
            {
                return Err(ErrorKind::Template(format!(
                    "{token:?} stands in the prompt of role {role:?}, where examples with roles of their own cannot be put; make it an item by itself"
                ))
                .into());
            }
            (Item::Message(message), with) => {
                let prompt = match (message.prompt, with) {
                    (Prompt::Text(prompt), Conversation::Text(with)) => Prompt::Text(prompt.replace(token, with)),
                    (prompt, _) => prompt,
                };
                replaced.push(Item::Message(Message { prompt, ..message }));
            }
            (marker @ Item::Marker(_), _) => replaced.push(marker),
        }
    }
    Ok(replaced)
}
