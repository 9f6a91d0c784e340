//! Comparing a model with the chat template that it was made of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::builder::BuilderOptions;
use crate::builder::PromptBuilder;
use crate::conversation::{Conversation, Mode};
use crate::dialect::{ChatTemplate, Model};
use crate::error::Result;
use crate::import::{ContentKind, generated};
use crate::tokenizer::Tokenizer;

/// How many prompts were the same, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptTally {
    /// Prompts with the same ids, or refused by both.
    pub equal: usize,
    /// All of them.
    pub all: usize,
}

impl PromptTally {
    /// Whether all are the same.
    pub fn is_exact(self) -> bool {
        self.equal == self.all
    }
}

impl fmt::Display for PromptTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.equal, self.all)
    }
}

/// What of a model was compared with a chat template, for each kind of content and purpose of prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The counts.
    pub tallies: BTreeMap<(ContentKind, &'static str), PromptTally>,
    /// The first difference of each kind, in words.
    pub differences: BTreeMap<ContentKind, String>,
}

impl Verified {
    /// Whether all prompts are the same.
    pub fn is_exact(&self) -> bool {
        self.tallies.values().all(|tally| tally.is_exact())
    }

    /// Whether all prompts of ordinary content to continue are the same.
    pub fn is_ordinary(&self) -> bool {
        self.tally(ContentKind::Ordinary, Mode::Generate).is_exact()
    }

    /// Whether all prompts for this purpose are the same.
    pub fn is_exact_in(&self, mode: Mode) -> bool {
        ContentKind::ALL.into_iter().all(|kind| self.tally(kind, mode).is_exact())
    }

    /// How many prompts were compared.
    pub fn prompts(&self) -> usize {
        self.tallies.values().map(|tally| tally.all).sum()
    }

    /// The count of one kind and purpose.
    pub fn tally(&self, kind: ContentKind, mode: Mode) -> PromptTally {
        self.tallies.get(&(kind, name(mode))).copied().unwrap_or_default()
    }

    /// Better ones are greater: first by ordinary content, then by all.
    pub(super) fn score(&self) -> (usize, usize, usize) {
        let ordinary = |mode| self.tally(ContentKind::Ordinary, mode).equal;
        let all = self.tallies.values().map(|tally| tally.equal).sum();
        (ordinary(Mode::Generate), ordinary(Mode::Score), all)
    }

    pub(super) fn why_not(&self) -> String {
        let tally = self.tally(ContentKind::Ordinary, Mode::Generate);
        let first = self.differences.get(&ContentKind::Ordinary).map_or("", String::as_str);
        format!(
            "no meta template writes what this chat template writes: the closest one has {tally} ordinary prompts; {first}"
        )
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Generate => "gen",
        Mode::Score => "ppl",
    }
}

/// Compares models with a chat template.
pub(super) struct Verifier<'a> {
    tokenizer: &'a Arc<Tokenizer>,
    literals: Vec<String>,
    theirs: Vec<(BuilderOptions, PromptBuilder)>,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(template: &ChatTemplate, tokenizer: &'a Arc<Tokenizer>) -> Result<Self> {
        let model = Model::from(template.clone());
        let theirs = [Mode::Generate, Mode::Score].map(|mode| {
            let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
            let builder = PromptBuilder::new(&model, Arc::clone(tokenizer), &options)?;
            Ok((options, builder))
        });
        let theirs = theirs.into_iter().collect::<Result<_>>()?;
        Ok(Self { tokenizer, literals: template.literals(), theirs })
    }

    /// Compares the prompts of all generated conversations of these kinds.
    ///
    /// # Errors
    /// If the model does not fit the tokenizer.
    pub(super) fn verify(&self, model: &Model, kinds: &[ContentKind]) -> Result<Verified> {
        let mut verified = Verified::default();
        for (options, theirs) in &self.theirs {
            let ours = PromptBuilder::new(model, Arc::clone(self.tokenizer), options)?;
            for &kind in kinds {
                let mut tally = PromptTally::default();
                for conversation in generated(kind, &self.literals) {
                    // A last answer is left out of a prompt to continue, where the chat template asks for a further one.
                    if options.mode == Mode::Generate && ends_with_answer(&conversation) {
                        continue;
                    }
                    tally.all += 1;
                    match difference(&ours, theirs, &conversation) {
                        None => tally.equal += 1,
                        Some(difference) => {
                            verified.differences.entry(kind).or_insert(difference);
                        }
                    }
                }
                verified.tallies.insert((kind, name(options.mode)), tally);
            }
        }
        Ok(verified)
    }
}

fn ends_with_answer(conversation: &Conversation) -> bool {
    conversation.messages().and_then(<[_]>::last).is_some_and(|last| last.role == "assistant")
}

/// How two prompts differ, in words; none if they have the same ids, or if both are refused.
fn difference(ours: &PromptBuilder, theirs: &PromptBuilder, conversation: &Conversation) -> Option<String> {
    match (ours.build(conversation), theirs.build(conversation)) {
        (Err(_), Err(_)) => None,
        (Ok(ours), Ok(theirs)) if ours.input_ids == theirs.input_ids => None,
        (Ok(ours), Ok(theirs)) => {
            let (ours, theirs) = (ours.text.unwrap_or_default(), theirs.text.unwrap_or_default());
            let same = ours.chars().zip(theirs.chars()).take_while(|(a, b)| a == b).count();
            let from = |text: &str| text.chars().skip(same.saturating_sub(20)).take(60).collect::<String>();
            Some(format!(
                "the meta template writes {:?} where the chat template writes {:?}",
                from(&ours),
                from(&theirs)
            ))
        }
        (Ok(_), Err(error)) => Some(format!("only the chat template refuses a conversation: {error}")),
        (Err(error), Ok(_)) => Some(format!("only the meta template refuses a conversation: {error}")),
    }
}
