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

#[cfg(test)]
mod tests {
    use crate::builder::PromptBuilder;
    use crate::conversation::Conversation;

    #[test]
    fn what_one_prompt_repeats_is_found_from_the_third_time_on() {
        let builder = PromptBuilder::load("demo").expect("it is built in");
        let context = "The same context comes with each question of a dialogue, and is long.";
        let messages = (0..6)
            .flat_map(|_| [("user", context), ("assistant", "An answer that is the same each time, and also long.")]);
        let conversation: Conversation = messages.chain([("user", "And now?")]).collect();
        let mut session = builder.session();
        let prompt = session.build(&conversation).expect("it builds");
        assert!(session.runs().bytes_found_again >= 4 * 2 * 50, "{:?}", session.runs());
        assert_eq!(prompt, builder.session().build(&conversation).expect("it builds"));
    }
}
