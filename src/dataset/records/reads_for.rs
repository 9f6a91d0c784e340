//! Whom records are read for.

/// Whom records are read for, which decides what they may have beside messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadsFor {
    /// A template that has a place for messages alone.
    #[default]
    Template,
    /// A server, which has a place for tools.
    Server,
    /// A chat template, which has a place for tools, documents and variables.
    ChatTemplate,
}
