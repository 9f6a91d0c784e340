//! Whom records are read for.

/// Whom records are read for, which decides what they may have beside messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadsFor {
    /// A template that has a place for messages alone.
    #[default]
    Template,
    /// A server, which has a place for tools.
    Server,
    /// A chat template, which has a place for tools, documents and variables. They are given with the conversation.
    ChatTemplate,
}

impl ReadsFor {
    /// A template that writes all keys of messages, as chat templates do, or one that does not.
    pub(crate) fn template(writes_all_keys: bool) -> Self {
        if writes_all_keys { Self::ChatTemplate } else { Self::Template }
    }
}
