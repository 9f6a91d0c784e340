//! Operations on OpenCompass's `PromptList`: filling its fields, and replacing a token.

use crate::conversation::{Conversation, Item, Message, Prompt, map_texts};
use crate::dataset::template::{Filler, Room};
use crate::error::{ErrorKind, Result};

/// Fills the strings and the prompts of the messages. Everything else in a message stays unchanged.
///
/// # Errors
/// The same as for [`Filler::fill`].
pub(crate) fn fill_items(mut items: Vec<Item>, filler: &Filler<'_>) -> Result<Vec<Item>> {
    for item in &mut items {
        match item {
            Item::Text(text) | Item::Message(Message { prompt: Prompt::Text(text), .. }) => {
                *text = filler.fill(std::mem::take(text))?;
            }
            Item::Message(Message { prompt: Prompt::Parts(parts), .. }) => {
                *parts = map_texts(std::mem::take(parts), |text, medium| filler.fill_part(text, medium))?;
            }
            Item::Message(Message { prompt: Prompt::Absent | Prompt::Null, .. }) | Item::Marker(_) => {}
        }
    }
    Ok(items)
}

/// Replaces a token in every string and prompt. A list can only replace a token in a string: its items are then put
/// between the string's pieces.
///
/// # Errors
/// [`ErrorKind::Row`] if the token is in a prompt and the replacement is a list.
pub(crate) fn replace(items: Vec<Item>, token: &str, with: &Conversation) -> Result<Vec<Item>> {
    insert(items, token, with, |text| Ok(text.to_owned()))
}

/// How often a token is in the strings and prompts.
pub(crate) fn occurrences(prompt: &Conversation, token: &str) -> usize {
    let count = |text: &str| text.matches(token).count();
    match prompt {
        Conversation::Text(text) => count(text),
        Conversation::List(items) => items.iter().filter_map(text_of).map(count).sum(),
        Conversation::Messages(_) | Conversation::Chat(_) => 0,
    }
}

/// Replaces a token as [`replace`] does, and transforms the text around it first.
pub(crate) fn insert(
    items: Vec<Item>,
    token: &str,
    with: &Conversation,
    around: impl Fn(&str) -> Result<String>,
) -> Result<Vec<Item>> {
    let mut inserted = Vec::with_capacity(items.len());
    for item in items {
        match (item, with) {
            (Item::Text(text), Conversation::Text(with)) => {
                inserted.push(Item::Text(insert_text(&text, token, with, &around)?));
            }
            (Item::Text(text), Conversation::List(list)) => {
                for (i, piece) in text.split(token).enumerate() {
                    if i > 0 {
                        inserted.extend(list.iter().cloned());
                    }
                    if !piece.is_empty() {
                        inserted.push(Item::Text(around(piece)?));
                    }
                }
            }
            // A quirk of the reference: the string is gone, whether it has the token or not.
            (Item::Text(_), Conversation::Messages(_) | Conversation::Chat(_)) => {}
            (Item::Message(Message { prompt: Prompt::Text(prompt), role, .. }), with)
                if prompt.contains(token) && !matches!(with, Conversation::Text(_)) =>
            {
                return Err(ErrorKind::Row(format!(
                    "{token:?} is in the prompt of role {role:?}, which cannot contain examples with their own roles; make it a separate item"
                ))
                .into());
            }
            (Item::Message(message), with) => {
                let prompt = match (message.prompt, with) {
                    (Prompt::Text(prompt), Conversation::Text(with)) => {
                        Prompt::Text(insert_text(&prompt, token, with, &around)?)
                    }
                    (Prompt::Text(prompt), _) => Prompt::Text(around(&prompt)?),
                    (prompt, _) => prompt,
                };
                inserted.push(Item::Message(Message { prompt, ..message }));
            }
            (marker @ Item::Marker(_), _) => inserted.push(marker),
        }
    }
    Ok(inserted)
}

/// A text with every token replaced by `with`.
pub(crate) fn insert_text(
    text: &str,
    token: &str,
    with: &str,
    around: impl Fn(&str) -> Result<String>,
) -> Result<String> {
    Ok(text.split(token).map(around).collect::<Result<Vec<_>>>()?.join(with))
}

/// Whether there is room for the strings and prompts after every token is replaced.
///
/// # Errors
/// [`ErrorKind::RowTooLong`].
pub(crate) fn has_room(prompt: &Conversation, token: &str, with: &str, room: &Room) -> Result<()> {
    let replaced = |text: &str| room.replaced(text.len(), text.matches(token).count(), token.len(), with.len());
    let lens: Result<Vec<usize>> = match prompt {
        Conversation::Text(text) => Ok(vec![replaced(text)?]),
        Conversation::List(items) => items.iter().filter_map(text_of).map(replaced).collect(),
        Conversation::Messages(_) | Conversation::Chat(_) => Ok(Vec::new()),
    };
    let len = lens?.into_iter().fold(0, usize::saturating_add);
    room.pass(len)?;
    room.replaced(len, 0, 0, 0).map(|_| ())
}

fn text_of(item: &Item) -> Option<&str> {
    match item {
        Item::Text(text) | Item::Message(Message { prompt: Prompt::Text(text), .. }) => Some(text),
        Item::Message(_) | Item::Marker(_) => None,
    }
}
