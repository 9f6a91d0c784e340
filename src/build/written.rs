//! How much was written.

use crate::assemble::TokenizedPrompt;
use crate::tokenizer::TokenId;

/// How much was written.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// How many prompts.
    pub prompts: u64,
    /// How many tokens they have together; none for messages.
    pub tokens: u64,
    /// How many dialogues wait for an answer.
    pub waiting: u64,
    /// How many prompts were truncated.
    pub truncated: u64,
    /// How many conversations end with an answer, which was left out.
    pub answers_omitted: u64,
    /// The special tokens that the prompt already had.
    pub omitted: Vec<TokenId>,
    /// Those that the tokenizer would have added after a prompt to continue.
    pub omitted_end: Vec<TokenId>,
}

impl Written {
    pub(super) fn of(prompt: TokenizedPrompt) -> Self {
        let TokenizedPrompt { input_ids, omitted, omitted_end, answer_omitted, .. } = prompt;
        let (tokens, answers_omitted) = (input_ids.len() as u64, u64::from(answer_omitted));
        Self { prompts: 1, tokens, answers_omitted, omitted, omitted_end, ..Self::default() }
    }

    /// Adds what was written after it. Of what is omitted, only the first is kept.
    pub fn add(&mut self, other: Self) {
        self.prompts += other.prompts;
        self.tokens += other.tokens;
        self.waiting += other.waiting;
        self.truncated += other.truncated;
        self.answers_omitted += other.answers_omitted;
        if self.omitted.is_empty() {
            self.omitted = other.omitted;
        }
        if self.omitted_end.is_empty() {
            self.omitted_end = other.omitted_end;
        }
    }
}
