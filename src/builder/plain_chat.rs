//! Plain chats: the conversations that a shortcut is for, and those that it is compared on.

use crate::conversation::{ChatMessage, Content, Conversation, Mode, is_space};
use crate::dialect::ChatTemplate;

/// How many messages a plain chat has at most.
pub(super) const MOST_MESSAGES: usize = 64;
const SPEAKERS: [&str; 2] = ["user", "assistant"];

/// What chats have in common for which a shortcut is right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Whether there is a system message.
    pub(super) has_system: bool,
    /// How many messages there are after it, at least one.
    pub(super) turns: usize,
}

impl Shape {
    pub(super) fn chat(self, content: impl Fn(usize) -> String) -> Conversation {
        alternating_chat(self.has_system, self.turns, content)
    }
}

/// An alternating chat of `turns` messages, optionally after a system message. `content(i)` gives the text of message `i`;
/// the system message is message 0.
pub(crate) fn alternating_chat(has_system: bool, turns: usize, content: impl Fn(usize) -> String) -> Conversation {
    let system = has_system.then(|| ChatMessage::new("system", content(0)));
    let turns = SPEAKERS.into_iter().cycle().zip(1..=turns).map(|(role, at)| ChatMessage::new(role, content(at)));
    Conversation::Messages(system.into_iter().chain(turns).collect())
}

/// The shape of a conversation that is like those that shortcuts are verified on: perhaps a system message, then questions
/// and answers that alternate, not too many, of text alone for which `is_plain` holds.
pub(crate) fn plain_chat(conversation: &Conversation, mode: Mode, is_plain: impl Fn(&str) -> bool) -> Option<Shape> {
    let messages = match conversation {
        Conversation::Messages(messages) => messages,
        Conversation::Chat(chat) if chat.is_bare() => &chat.messages,
        _ => return None,
    };
    let is_text = |message: &ChatMessage| {
        message.others.is_empty()
            && matches!(&message.content, Content::Text(text) if is_plain(text) && !ChatTemplate::has_marks(text))
    };
    let (has_system, turns) = match &messages[..] {
        [system, turns @ ..] if system.role == "system" => (true, turns),
        turns => (false, turns),
    };
    let alternates = turns.iter().zip(SPEAKERS.into_iter().cycle()).all(|(message, speaker)| message.role == speaker);
    let ends_well = mode == Mode::Score || turns.len() % 2 == 1;
    let is_short = !turns.is_empty() && messages.len() <= MOST_MESSAGES;
    let is_plain = is_short && alternates && ends_well && messages.iter().all(is_text);
    is_plain.then_some(Shape { has_system, turns: turns.len() })
}

/// Whether a text is not blank and has at each end no white space, or spaces alone, or line ends alone: a strip takes all
/// of these or none, whichever characters it strips.
pub(super) fn has_plain_ends(text: &str) -> bool {
    let is_seen = |c: char| !is_space(c);
    let is_plain = |is: &dyn Fn(char) -> bool| [' ', '\n'].into_iter().any(is);
    is_plain(&|blank| text.trim_start_matches(blank).starts_with(is_seen))
        && is_plain(&|blank| text.trim_end_matches(blank).ends_with(is_seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ends_have_one_kind_of_white_space() {
        for text in ["a", " a", "a\n\n", "\n\na  ", "a \t\n b"] {
            assert!(has_plain_ends(text), "{text:?}");
        }
        for text in ["", " ", "\n", " \na", "a\n ", "\ta", "a\u{a0}", "\u{3000}a", "a\u{1c}", "\r\na", " \u{2028}a"] {
            assert!(!has_plain_ends(text), "{text:?}");
        }
    }
}
