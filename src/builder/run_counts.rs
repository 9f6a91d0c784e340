//! How often a session found the tokens of a text again.

/// How many runs of text a [`Session`](crate::Session) needed the tokens of, and how many of them it still knew: from
/// [`Session::runs`](crate::Session::runs). A run is the text between two control tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// All of them.
    pub all: u64,
    /// Those that were not encoded, because their tokens were known.
    pub found_again: u64,
}
