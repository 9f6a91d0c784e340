//! What is wanted of a prompt in addition to its ids.

use crate::conversation::Conversation;

/// What is wanted in addition to the ids, and of what.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Detail {
    pub(crate) spans: bool,
    /// Spans are also wanted of a prompt with more tokens than this. Of some prompts they are not known then.
    pub(crate) spans_beyond: Option<usize>,
    /// Whether a shortened form of such a prompt is built next.
    pub(crate) will_be_shortened: bool,
    pub(crate) offsets: bool,
    pub(crate) text: bool,
    /// Whether the prompt is the shortened form of one that is too long.
    pub(crate) is_shortened: bool,
    /// Whether the conversation is a string, to which no template is applied.
    pub(crate) is_string: bool,
}

impl Detail {
    pub(crate) const ALL: Self = Self {
        spans: true,
        spans_beyond: None,
        will_be_shortened: false,
        offsets: true,
        text: true,
        is_shortened: false,
        is_string: false,
    };

    /// Takes from a conversation whether it is a string.
    pub(crate) fn of(self, conversation: &Conversation) -> Self {
        Self { is_string: matches!(conversation, Conversation::Text(_)), ..self }
    }

    /// Whether anything but ids and text is asked for.
    pub(crate) fn needs_origins(self) -> bool {
        self.spans || self.offsets
    }
}
