//! Conversations from a program's own values: pairs of role and content, messages, strings.

use compact_str::CompactString;

use crate::conversation::{Chat, ChatMessage, Content, Conversation};

impl Conversation {
    /// Replaces all messages with these, reusing the memory.
    pub(crate) fn set_messages<R: AsRef<str>, C: AsRef<str>>(&mut self, pairs: &[(R, C)]) {
        let mut messages = match std::mem::replace(self, Self::Messages(Vec::new())) {
            Self::Messages(messages) => messages,
            Self::Text(_) | Self::List(_) | Self::Chat(_) => Vec::new(),
        };
        messages.resize_with(pairs.len(), || ChatMessage::new("", ""));
        for (message, (role, content)) in messages.iter_mut().zip(pairs) {
            message.role = role.as_ref().into();
            match &mut message.content {
                Content::Text(text) => content.as_ref().clone_into(text),
                Content::Parts(_) | Content::Null => message.content = content.as_ref().into(),
            }
        }
        *self = Self::Messages(messages);
    }
}

impl<R: Into<CompactString>, C: Into<Content>> From<(R, C)> for ChatMessage {
    fn from((role, content): (R, C)) -> Self {
        Self::new(role, content)
    }
}

impl<M: Into<ChatMessage>> FromIterator<M> for Conversation {
    /// ```
    /// use metatok::{ChatMessage, Conversation};
    ///
    /// let conversation: Conversation = [("user", "Hi!"), ("assistant", "Hello!")].into_iter().collect();
    /// let messages = vec![ChatMessage::new("user", "Hi!"), ChatMessage::new("assistant", "Hello!")];
    /// assert_eq!(conversation, Conversation::from(messages));
    /// ```
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        Self::Messages(messages.into_iter().map(Into::into).collect())
    }
}

impl<M: Into<ChatMessage>, const N: usize> From<[M; N]> for Conversation {
    fn from(messages: [M; N]) -> Self {
        messages.into_iter().collect()
    }
}

impl<M: Into<ChatMessage>> From<Vec<M>> for Conversation {
    fn from(messages: Vec<M>) -> Self {
        messages.into_iter().collect()
    }
}

impl From<Chat> for Conversation {
    /// Messages alone if it has nothing else.
    fn from(chat: Chat) -> Self {
        if chat.is_bare() { Self::Messages(chat.messages) } else { Self::Chat(Box::new(chat)) }
    }
}

impl From<String> for Conversation {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Conversation {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
