//! How much was written.

use crate::assemble::TokenizedPrompt;
use crate::error::{Setting, Warning, counted, way_out};
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
    /// How many prompts of rows have fewer examples than the dataset asks for, because no more fit.
    pub fewer_examples: u64,
    /// How many prompts of rows do not fit even without examples.
    pub too_long: u64,
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
        self.fewer_examples += other.fewer_examples;
        self.too_long += other.too_long;
        self.answers_omitted += other.answers_omitted;
        if self.omitted.is_empty() {
            self.omitted = other.omitted;
        }
        if self.omitted_end.is_empty() {
            self.omitted_end = other.omitted_end;
        }
    }

    /// Notes about prompts that are not what was asked for.
    ///
    /// ```
    /// use metatok::build::Written;
    ///
    /// let notes = Written { prompts: 9, waiting: 2, ..Written::default() }.notes();
    /// assert_eq!(notes[0].message(), "the next turns of 2 dialogues need the model's answers");
    /// ```
    pub fn notes(&self) -> Vec<Warning> {
        let Self { truncated, fewer_examples, too_long, waiting, .. } = *self;
        let fewer_examples = (fewer_examples > 0).then(|| {
            let what = " fewer examples than the dataset asks for, because no more fit";
            Warning::new("fewer-examples", prompts(fewer_examples, "has", "have") + what)
        });
        let too_long = (too_long > 0).then(|| {
            let what = prompts(too_long, "is", "are") + " too long even without examples";
            Warning::new("too-long", what)
        });
        let waiting = (waiting > 0).then(|| {
            let what = format!("the next turns of {} need the model's answers", counted(waiting, "dialogue"));
            Warning::new("dialogues-waiting", what).with_way_out(way_out!["supply them with ", Setting::ANSWERS])
        });
        [self::truncated(truncated), fewer_examples, too_long, waiting].into_iter().flatten().collect()
    }
}

/// A note that this many prompts were truncated, if any were.
///
/// ```
/// let note = metatok::build::truncated(1).expect("there is one");
/// assert_eq!(note.message(), "1 prompt was truncated");
/// ```
pub fn truncated(count: u64) -> Option<Warning> {
    (count > 0).then(|| Warning::new("truncated", prompts(count, "was", "were") + " truncated"))
}

/// `1 prompt was`, `2 prompts were`.
fn prompts(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", counted(count, "prompt"), if count == 1 { one } else { many })
}
