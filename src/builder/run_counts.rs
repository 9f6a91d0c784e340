//! How often a session found the tokens of a text again.

use crate::tokenizer::Counts;

/// How many runs of text a [`Session`](crate::Session) needed the tokens of, and how many of them it still knew: from
/// [`Session::runs`](crate::Session::runs). A run is the text between two control tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// All of them.
    pub all: u64,
    /// The bytes of their text.
    pub bytes: u64,
    /// Those that were not encoded, because their tokens were known.
    pub found_again: u64,
    /// The bytes of their text.
    pub bytes_found_again: u64,
}

impl RunCounts {
    /// What a cache counted since then, and what another session counted.
    pub(super) fn since(before: Counts, now: Counts, other: Self) -> Self {
        Self {
            all: now.asked - before.asked + other.all,
            bytes: now.asked_bytes - before.asked_bytes + other.bytes,
            found_again: now.found - before.found + other.found_again,
            bytes_found_again: now.found_bytes - before.found_bytes + other.bytes_found_again,
        }
    }
}
