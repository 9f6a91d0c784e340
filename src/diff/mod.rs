//! Two models beside each other: where their prompts of the same conversations begin to differ, and why.
//!
//! ```
//! use metatok::diff::{Cause, Diff};
//! use metatok::{Conversation, PromptBuilder};
//!
//! let builder = PromptBuilder::demo()?;
//! let mut diff = Diff::new(builder.clone(), builder);
//! assert!(diff.see(&Conversation::from([("user", "Hi!")])).is_none());
//! assert_eq!((diff.equal(), diff.different()), (1, 0));
//! # Ok::<(), metatok::Error>(())
//! ```

mod cause;
mod difference;
mod pair;

use std::collections::BTreeMap;

pub use cause::Cause;
pub use difference::PromptDifference;

use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::dataset::{InputFormat, RecordReader};
use pair::Pair;

/// Compares the prompts of two builders.
#[derive(Debug)]
pub struct Diff {
    pair: Pair,
    equal: u64,
    refused: u64,
    causes: BTreeMap<Cause, u64>,
}

impl Diff {
    /// Of these two.
    pub fn new(ours: PromptBuilder, theirs: PromptBuilder) -> Self {
        Self { pair: Pair { ours, theirs }, equal: 0, refused: 0, causes: BTreeMap::new() }
    }

    /// Reads records of this format with all that one of them writes.
    pub fn record_reader(&self, format: InputFormat) -> RecordReader {
        let Pair { ours, theirs } = &self.pair;
        RecordReader::new(format).for_chat_template(ours.writes_all_keys() || theirs.writes_all_keys())
    }

    /// Compares the prompts of a conversation and counts. None if they have the same ids, or if both refuse it.
    pub fn see(&mut self, conversation: &Conversation) -> Option<PromptDifference> {
        let prompts = self.pair.prompts(conversation);
        match &prompts {
            [Ok(ours), Ok(theirs)] if ours == theirs => self.equal += 1,
            [Err(_), Err(_)] => self.refused += 1,
            _ => {
                let cause = Cause::of(&self.pair, conversation, &prompts);
                *self.causes.entry(cause).or_default() += 1;
                return Some(PromptDifference::new(&self.pair, &prompts, cause));
            }
        }
        None
    }

    /// How many conversations have the same ids with both.
    pub fn equal(&self) -> u64 {
        self.equal
    }

    /// How many conversations both refuse.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// How many conversations differ.
    pub fn different(&self) -> u64 {
        self.causes.values().sum()
    }

    /// How many differ for each cause.
    pub fn causes(&self) -> &BTreeMap<Cause, u64> {
        &self.causes
    }
}
