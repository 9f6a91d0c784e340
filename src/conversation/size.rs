//! How much a conversation counts for the limit on what one row becomes.

use serde_json::Value;

use crate::conversation::json_object::Others;
use crate::conversation::{ContentPart, ContentRef, Conversation, Item};

/// What a message counts beside its text, less than it takes: a dialogue of a thousand short turns, each of which has all turns
/// before it, stays below the usual limit.
const MESSAGE: usize = 16;

impl Conversation {
    /// How many bytes its texts have, with something for each message: many empty messages take memory, too.
    pub(crate) fn bytes(&self) -> usize {
        let messages = match self {
            Self::Text(text) => return text.len(),
            Self::List(items) => items.len(),
            Self::Messages(_) | Self::Chat(_) => self.messages().unwrap_or_default().len(),
        };
        let part = |part: &ContentPart| size_of::<ContentPart>() + part.text_bytes();
        let bytes = |message: usize| match self.content_at(message) {
            Some(ContentRef::Text(text)) => MESSAGE + text.len(),
            Some(ContentRef::Parts(parts)) => MESSAGE + parts.iter().map(part).sum::<usize>(),
            None => MESSAGE,
        };
        let strings = match self {
            Self::List(items) => {
                items.iter().map(|item| if let Item::Text(text) = item { text.len() } else { 0 }).sum()
            }
            _ => 0,
        };
        let others: usize = self.others().map(|(_, others)| bytes_of(others)).sum();
        strings + others + (0..messages).map(bytes).sum::<usize>()
    }
}

/// How many bytes the other keys of a message take, or nearly.
fn bytes_of(others: &Others) -> usize {
    let bytes = |(key, value): (&String, &Value)| size_of::<String>() + key.len() + bytes_of_value(value);
    others.iter().map(bytes).sum()
}

fn bytes_of_value(value: &Value) -> usize {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of_value).sum(),
        Value::Object(entries) => bytes_of(entries),
    };
    size_of::<Value>() + inner
}
