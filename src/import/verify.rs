//! Comparing a model with the chat template that it was made of.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::assemble::TokenizedPrompt;
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
    theirs: Vec<Theirs>,
}

/// The chat template for one purpose of prompts.
struct Theirs {
    options: BuilderOptions,
    builder: PromptBuilder,
    /// What it makes of the conversations of each kind. Many models are compared with it.
    prompts: [OnceCell<Vec<Expected>>; ContentKind::ALL.len()],
}

/// A generated conversation, and its prompt.
type Expected = (Conversation, Result<TokenizedPrompt>);

impl Theirs {
    fn prompts(&self, kind: ContentKind, literals: &[String]) -> &[Expected] {
        self.prompts[kind as usize].get_or_init(|| {
            // A last answer is left out of a prompt to continue, where the chat template asks for a further one.
            let is_left_out = |said: &Conversation| self.options.mode == Mode::Generate && ends_with_answer(said);
            let mut session = self.builder.session();
            let all = generated(kind, literals).into_iter().filter(|conversation| !is_left_out(conversation));
            let build = |conversation: Conversation| {
                let built = session.build(&conversation);
                (conversation, built)
            };
            all.map(build).collect()
        })
    }
}

impl<'a> Verifier<'a> {
    pub(super) fn new(modes: &[Mode], template: &ChatTemplate, tokenizer: &'a Arc<Tokenizer>) -> Result<Self> {
        let model = Model::from(template.clone());
        let theirs = modes.iter().map(|&mode| {
            let options = BuilderOptions { mode, text: true, ..BuilderOptions::default() };
            let builder = PromptBuilder::new(&model, Arc::clone(tokenizer), &options)?;
            Ok(Theirs { options, builder, prompts: Default::default() })
        });
        Ok(Self { tokenizer, literals: template.literals(), theirs: theirs.collect::<Result<_>>()? })
    }

    /// Compares the prompts of all generated conversations of these kinds.
    ///
    /// # Errors
    /// If the model does not fit the tokenizer.
    pub(super) fn verify(&self, model: &Model, kinds: &[ContentKind]) -> Result<Verified> {
        let mut verified = Verified::default();
        for theirs in &self.theirs {
            let mut ours = PromptBuilder::new(model, Arc::clone(self.tokenizer), &theirs.options)?.session();
            for &kind in kinds {
                let mut tally = PromptTally::default();
                for (conversation, theirs) in theirs.prompts(kind, &self.literals) {
                    tally.all += 1;
                    match difference(&ours.build(conversation), theirs) {
                        None => tally.equal += 1,
                        Some(difference) => {
                            verified.differences.entry(kind).or_insert(difference);
                        }
                    }
                }
                verified.tallies.insert((kind, name(theirs.options.mode)), tally);
            }
        }
        Ok(verified)
    }
}

fn ends_with_answer(conversation: &Conversation) -> bool {
    conversation.messages().and_then(<[_]>::last).is_some_and(|last| last.role == "assistant")
}

/// How two prompts differ, in words; none if they have the same ids, or if both are refused.
fn difference(ours: &Result<TokenizedPrompt>, theirs: &Result<TokenizedPrompt>) -> Option<String> {
    match (ours, theirs) {
        (Err(_), Err(_)) => None,
        (Ok(ours), Ok(theirs)) if ours.input_ids == theirs.input_ids => None,
        (Ok(ours), Ok(theirs)) => {
            let [ours, theirs] = [ours, theirs].map(|prompt| prompt.text.as_deref().unwrap_or_default());
            let same = ours.chars().zip(theirs.chars()).take_while(|(a, b)| a == b).count();
            let from = |text: &str| text.chars().skip(same.saturating_sub(20)).take(60).collect::<String>();
            Some(format!("the meta template writes {:?} where the chat template writes {:?}", from(ours), from(theirs)))
        }
        (Ok(_), Err(error)) => Some(format!("only the chat template refuses a conversation: {error}")),
        (Err(error), Ok(_)) => Some(format!("only the meta template refuses a conversation: {error}")),
    }
}
