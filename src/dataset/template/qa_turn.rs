//! A question, or an answer, and what follows it in a text.

use crate::conversation::ChatMessage;
use crate::dataset::python::is_space;

/// A message, and what follows it in a text.
pub(super) struct Said<'t> {
    pub(super) role: &'static str,
    pub(super) content: String,
    pub(super) delimiter: &'t str,
}

impl Said<'_> {
    pub(super) fn into_message(self) -> ChatMessage {
        ChatMessage::new(self.role, self.content)
    }
}

pub(super) fn text(said: &[Said<'_>]) -> String {
    said.iter().flat_map(|said| [said.content.as_str(), said.delimiter]).collect()
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
