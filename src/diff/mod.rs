//! Two models beside each other: where their prompts of the same conversations begin to differ, and why.
//!
//! ```
//! use metatok::diff::{Cause, Diff};
//! use metatok::{Conversation, PromptBuilder};
//!
//! let builder = PromptBuilder::demo()?;
//! let mut diff = Diff::new(builder.clone(), builder);
//! assert!(diff.see(&Conversation::from([("user", "Hi!")]), "the first one"));
//! assert_eq!((diff.equal(), diff.different()), (1, 0));
//! # Ok::<(), metatok::Error>(())
//! ```

mod cause;
mod difference;
mod pair;

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::ser::{Serialize, SerializeStruct, Serializer};

pub use cause::Cause;
pub use difference::PromptDifference;

use crate::builder::PromptBuilder;
use crate::conversation::Conversation;
use crate::dataset::records::OwnRoles;
use crate::dataset::{InputFormat, ReadsFor, RecordReader};
use crate::dialect::ChatTemplate;
use crate::error::Setting;
use crate::import::{ContentKind, generated, unusual};
use pair::Pair;

/// Compares the prompts of two builders.
///
/// As JSON: how many are `equal`, `refused_by_both` and `different`, how many there are of each of `causes`, and the `first`
/// one of each, with its `place` and `difference`.
#[derive(Debug)]
pub struct Diff {
    pair: Pair,
    equal: u64,
    refused: u64,
    causes: BTreeMap<Cause, u64>,
    first: BTreeMap<Cause, PlacedDifference>,
    setting_name: fn(&Setting) -> String,
}

/// A difference, and the conversation that has it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct PlacedDifference {
    /// Where the conversation is.
    pub place: String,
    /// How its prompts differ.
    pub difference: PromptDifference,
}

impl Diff {
    /// A comparison of two builders that has not seen a conversation yet.
    pub fn new(ours: PromptBuilder, theirs: PromptBuilder) -> Self {
        Self {
            pair: Pair { ours, theirs },
            equal: 0,
            refused: 0,
            causes: BTreeMap::new(),
            first: BTreeMap::new(),
            setting_name: Setting::to_string,
        }
    }

    /// Sets how the reasons of refusals name settings.
    #[must_use]
    pub fn setting_name(mut self, name: fn(&Setting) -> String) -> Self {
        self.setting_name = name;
        self
    }

    /// Reads records of this format with all that one of them writes.
    pub fn record_reader(&self, format: InputFormat) -> RecordReader {
        let Pair { ours, theirs } = &self.pair;
        RecordReader::new(format)
            .reads_for(ReadsFor::template(ours.writes_all_keys() || theirs.writes_all_keys()))
            .keeps_roles(OwnRoles::of(|role| ours.knows_role(role) && theirs.knows_role(role)))
    }

    /// Compares the prompts of generated conversations, at most `of_each` of each [`ContentKind`]. If none of them differs, those
    /// come next that the chat templates of the two may treat in another way: long chats and contents, around each number
    /// in their code. There are none of these if the code does not tell which lengths matter. That can take a minute:
    /// `goes_on` is asked before each, and ends it with `false`.
    pub fn see_generated<'t>(
        &mut self,
        of_each: usize,
        templates: impl IntoIterator<Item = &'t ChatTemplate>,
        mut goes_on: impl FnMut() -> bool,
    ) {
        for kind in ContentKind::ALL {
            let conversations = generated(kind, &[]);
            for (i, conversation) in conversations.iter().take(of_each).enumerate().take_while(|_| goes_on()) {
                self.see(conversation, format_args!("generated, {}, {i}", kind.name()));
            }
        }
        // They take long, and may find something only where short ones are the same.
        let long = templates.into_iter().take_while(|_| self.different() == 0).filter_map(unusual);
        let long: Vec<Conversation> = long.flatten().collect();
        for (i, conversation) in long.iter().enumerate().take_while(|_| goes_on()) {
            self.see(conversation, format_args!("generated, {}, {i}", ContentKind::Long.name()));
        }
    }

    /// Compares the prompts of a conversation, and returns whether they have the same ids, or both refuse it. `place` says
    /// where it is.
    pub fn see(&mut self, conversation: &Conversation, place: impl Display) -> bool {
        let prompts = self.pair.prompts(conversation);
        match &prompts {
            [Ok(ours), Ok(theirs)] if ours == theirs => self.equal += 1,
            [Err(_), Err(_)] => self.refused += 1,
            _ => {
                let cause = Cause::of(&self.pair, conversation, &prompts);
                *self.causes.entry(cause).or_default() += 1;
                self.first.entry(cause).or_insert_with(|| PlacedDifference {
                    place: place.to_string(),
                    difference: PromptDifference::new(&self.pair, &prompts, cause, self.setting_name),
                });
                return false;
            }
        }
        true
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

    /// The first difference of each cause.
    pub fn first(&self) -> &BTreeMap<Cause, PlacedDifference> {
        &self.first
    }
}

impl Serialize for Diff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let causes: BTreeMap<String, u64> = self.causes.iter().map(|(cause, n)| (cause.to_string(), *n)).collect();
        let mut diff = serializer.serialize_struct("Diff", 5)?;
        diff.serialize_field("equal", &self.equal)?;
        diff.serialize_field("refused_by_both", &self.refused)?;
        diff.serialize_field("different", &self.different())?;
        diff.serialize_field("causes", &causes)?;
        diff.serialize_field("first", &self.first.values().collect::<Vec<_>>())?;
        diff.end()
    }
}
