//! What a value in a template can tell of contents, for plain chats: a system message perhaps, then alternating
//! questions and answers, of text alone that is not blank.

/// How a value depends on the contents of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Independent of content: it follows from the template, the roles and the number of messages.
    Fixed,
    /// Independent of content, with this truth value.
    Known(bool),
    /// The role of a message: one of [`ROLES`].
    Role,
    /// What messages of plain chats do not have.
    Undefined,
    /// None, as the tools of plain chats.
    Null,
    /// A content as one text, or that text with its ends stripped.
    Content,
    /// Such a text, or something fixed.
    Text,
    /// Contents and other texts, joined.
    Joined,
    /// How many characters one of these has.
    Length,
    /// A list of texts whose length does not depend on contents.
    Texts,
    /// A content as a list with its text as the only part.
    Parts,
    /// This part.
    Part,
    /// A list of messages.
    Messages,
    Message,
    /// A message, or something fixed.
    Perhaps,
    /// The `loop` of messages.
    MessageLoop,
    /// The `loop` of what is taken from a content.
    Loop,
    Namespace,
    /// One of several that have nothing in common.
    Any,
}

/// The roles of plain chats.
pub(super) const ROLES: [&str; 3] = ["system", "user", "assistant"];

use Kind::{Any, Content, Fixed, Joined, Known, Message, Null, Perhaps, Role, Text, Undefined};

impl Kind {
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Fixed | Known(_) | Role | Undefined | Null)
    }

    /// Whether it is true, where that is the same for all plain chats.
    pub(super) fn truth(self) -> Option<bool> {
        match self {
            Known(is_true) => Some(is_true),
            Role => Some(true),
            Undefined | Null => Some(false),
            _ => None,
        }
    }

    /// Whether it can be written, and joined with other text.
    pub(super) fn is_text(self) -> bool {
        self.is_fixed() || matches!(self, Content | Text | Joined)
    }

    /// The kind of a value that is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (one, other) if one.is_fixed() && other.is_fixed() => Fixed,
            (one, other) if !one.is_text() || !other.is_text() => match (one, other) {
                (Message | Perhaps, other) | (other, Message | Perhaps)
                    if other.is_fixed() || matches!(other, Message | Perhaps) =>
                {
                    Perhaps
                }
                _ => Any,
            },
            (Joined, _) | (_, Joined) => Joined,
            _ => Text,
        }
    }

    /// The kind of a value that may also be undefined.
    pub(super) fn or_undefined(self) -> Self {
        match self {
            Content => Text,
            Message => Perhaps,
            Known(_) | Role | Null => Fixed,
            kind => kind,
        }
    }

    /// What two texts are together.
    pub(super) fn with(self, other: Self) -> Self {
        if self.is_fixed() && other.is_fixed() { Fixed } else { Joined }
    }
}

/// What a piece of a template writes; none if nothing.
pub(super) type Written = Option<Kind>;

/// What is written by one piece after the other.
pub(super) fn written_after(before: Written, after: Written) -> Written {
    match (before, after) {
        (Some(before), Some(after)) => Some(before.with(after)),
        (before, after) => before.or(after),
    }
}

/// What is written by one piece or the other.
pub(super) fn written_by_either(one: Written, other: Written) -> Written {
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(Fixed).or(other.unwrap_or(Fixed))),
    }
}

/// What is written by a piece as often as it is run.
pub(super) fn written_often(once: Written) -> Written {
    once.map(|once| once.with(once))
}
