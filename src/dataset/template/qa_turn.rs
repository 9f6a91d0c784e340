//! A question or an answer, and the delimiter after it in a text.

use crate::conversation::ChatMessage;
use crate::conversation::is_space;

/// A message, and the delimiter after it in a text.
pub(super) struct QaMessage<'t> {
    pub(super) role: &'static str,
    pub(super) content: String,
    pub(super) delimiter: &'t str,
}

impl QaMessage<'_> {
    pub(super) fn into_message(self) -> ChatMessage {
        ChatMessage::new(self.role, self.content)
    }
}

pub(super) fn text(messages: &[QaMessage<'_>]) -> String {
    messages.iter().flat_map(|message| [message.content.as_str(), message.delimiter]).collect()
}

/// Whether there is no white space between two texts.
pub(super) fn touch(one: &str, other: &str) -> bool {
    !one.ends_with(is_space) && !other.starts_with(is_space)
}

/// An answer after its prefix.
pub(super) fn begun(prefix: String, answer: &str) -> String {
    let space = if !prefix.is_empty() && touch(&prefix, answer) { " " } else { "" };
    prefix + space + answer
}
