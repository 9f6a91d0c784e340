//! Comparing a model with the chat template that it was made of.

use std::cell::OnceCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::assemble::TokenizedPrompt;
use crate::builder::{BuilderOptions, PromptBuilder, Session};
use crate::common_prefix::common_prefix;
use crate::conversation::{Conversation, Mode};
use crate::dialect::{ChatTemplate, ChatTemplateRenderer, Model};
use crate::error::Result;
use crate::import::unusual::unusual;
use crate::import::{ContentKind, generated};
use crate::tokenizer::{TokenId, Tokenizer};

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
    /// The roles of the chats of [`ContentKind::Orders`] that differ.
    pub orders: BTreeSet<String>,
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

    /// How many prompts were compared.
    pub fn prompts(&self) -> usize {
        self.tallies.values().map(|tally| tally.all).sum()
    }

    /// The count of one kind and purpose.
    pub fn tally(&self, kind: ContentKind, mode: Mode) -> PromptTally {
        self.tallies.get(&(kind, mode.name())).copied().unwrap_or_default()
    }

    pub(super) fn why_not(&self) -> String {
        let tally = self.tally(ContentKind::Ordinary, Mode::Generate);
        let first = self.differences.get(&ContentKind::Ordinary).map_or("", String::as_str);
        format!(
            "no meta template writes what this chat template writes: the closest one has {tally} ordinary prompts; {first}"
        )
    }
}

/// Compares models with a chat template.
pub(super) struct Verifier<'a> {
    pub(super) template: &'a ChatTemplate,
    pub(super) tokenizer: &'a Arc<Tokenizer>,
    pub(super) renderer: ChatTemplateRenderer,
    /// What stands in quotes in the template.
    literals: Vec<String>,
    theirs: Vec<Theirs>,
    /// Whether a conversation is compared.
    is_compared: &'a dyn Fn(&Conversation) -> bool,
}

/// The chat template for one purpose of prompts.
pub(super) struct Theirs {
    builder: PromptBuilder,
    /// For the builders of models that are compared with it.
    options: BuilderOptions,
    /// What it makes of the conversations of each kind. Many models are compared with it.
    prompts: [OnceCell<Vec<Expected>>; ContentKind::ALL.len() + ContentKind::FURTHER.len()],
}

/// A generated conversation, and its prompt.
type Expected = (Conversation, Result<TokenizedPrompt>);

impl Theirs {
    pub(super) fn new(builder: PromptBuilder, options: BuilderOptions) -> Self {
        Self { builder, options, prompts: Default::default() }
    }

    fn prompts(&self, kind: ContentKind, verifier: &Verifier<'_>) -> &[Expected] {
        self.prompts[kind as usize].get_or_init(|| {
            // A last answer is left out of a prompt to continue, where the chat template asks for a further one.
            let is_left_out = |said: &Conversation| self.options.mode == Mode::Generate && ends_with_answer(said);
            let is_compared = |said: &Conversation| !is_left_out(said) && (verifier.is_compared)(said);
            let mut session = self.builder.session();
            let all = verifier.conversations(kind).into_iter().filter(is_compared);
            let build = |conversation: Conversation| {
                let built = session.build(&conversation);
                (conversation, built)
            };
            all.map(build).collect()
        })
    }
}

impl<'a> Verifier<'a> {
    pub(super) fn new(
        template: &'a ChatTemplate,
        tokenizer: &'a Arc<Tokenizer>,
        renderer: ChatTemplateRenderer,
        theirs: Vec<Theirs>,
        is_compared: &'a dyn Fn(&Conversation) -> bool,
    ) -> Self {
        Self { template, tokenizer, renderer, literals: template.literals(), theirs, is_compared }
    }

    fn conversations(&self, kind: ContentKind) -> Vec<Conversation> {
        match kind {
            ContentKind::Long => unusual(self.template).unwrap_or_default(),
            _ => generated(kind, &self.literals),
        }
    }

    /// A model to be compared.
    ///
    /// # Errors
    /// If it does not fit the tokenizer.
    pub(super) fn trial(&self, model: Model) -> Result<Trial<'_>> {
        let session =
            |theirs: &Theirs| Ok(PromptBuilder::new(&model, Arc::clone(self.tokenizer), &theirs.options)?.session());
        let sessions = self.theirs.iter().map(session).collect::<Result<_>>()?;
        Ok(Trial { verifier: self, model, sessions, verified: Verified::default() })
    }
}

/// A model that is compared with the chat template, kind by kind.
pub(super) struct Trial<'v> {
    verifier: &'v Verifier<'v>,
    pub(super) model: Model,
    /// One for each purpose of prompts.
    sessions: Vec<Session>,
    pub(super) verified: Verified,
}

impl Trial<'_> {
    /// Compares the prompts of all generated conversations of this kind, unless they were compared.
    pub(super) fn compare(&mut self, kind: ContentKind) {
        for (theirs, ours) in self.verifier.theirs.iter().zip(&mut self.sessions) {
            let Verified { tallies, differences, orders } = &mut self.verified;
            let Entry::Vacant(tally) = tallies.entry((kind, theirs.options.mode.name())) else { return };
            let tally = tally.insert(PromptTally::default());
            for (conversation, theirs) in theirs.prompts(kind, self.verifier) {
                tally.all += 1;
                match difference(&ours.build(conversation), theirs, self.verifier.tokenizer) {
                    None => tally.equal += 1,
                    Some(difference) => {
                        if kind == ContentKind::Orders {
                            orders.insert(roles(conversation));
                        }
                        differences.entry(kind).or_insert(difference);
                    }
                }
            }
        }
    }

    /// Whether all prompts of this kind are the same.
    pub(super) fn is_exact_for(&self, kind: ContentKind) -> bool {
        self.tallies(kind).all(PromptTally::is_exact)
    }

    /// How many prompts of this kind are the same.
    pub(super) fn equal(&self, kind: ContentKind) -> usize {
        self.tallies(kind).map(|tally| tally.equal).sum()
    }

    /// Better ones are greater: first by ordinary content, then by all.
    pub(super) fn score(&self, kind: ContentKind) -> (usize, usize, usize) {
        let ordinary = |mode| self.verified.tally(ContentKind::Ordinary, mode).equal;
        let all = self.equal(ContentKind::Ordinary) + self.equal(kind);
        (ordinary(Mode::Generate), ordinary(Mode::Score), all)
    }

    fn tallies(&self, kind: ContentKind) -> impl Iterator<Item = PromptTally> {
        [Mode::Generate, Mode::Score].into_iter().map(move |mode| self.verified.tally(kind, mode))
    }
}

fn roles(conversation: &Conversation) -> String {
    let roles = conversation.messages().unwrap_or_default().iter().map(|message| &*message.role);
    roles.collect::<Vec<_>>().join(" ")
}

fn ends_with_answer(conversation: &Conversation) -> bool {
    conversation.messages().and_then(<[_]>::last).is_some_and(|last| last.role == "assistant")
}

/// How many tokens are shown from the first one on that differs.
const SHOWN_TOKENS: usize = 4;

/// How two prompts differ, in words; none if they have the same ids, or if both are refused.
fn difference(
    ours: &Result<TokenizedPrompt>,
    theirs: &Result<TokenizedPrompt>,
    tokenizer: &Tokenizer,
) -> Option<String> {
    match (ours, theirs) {
        (Err(_), Err(_)) => None,
        (Ok(ours), Ok(theirs)) if ours.input_ids == theirs.input_ids => None,
        (Ok(ours), Ok(theirs)) if ours.text == theirs.text => {
            let [ours, theirs] = [&ours.input_ids, &theirs.input_ids];
            let same = common_prefix(ours, theirs);
            let from = |ids: &[TokenId]| {
                let shown = ids.iter().skip(same).take(SHOWN_TOKENS).map(|id| tokenizer.quoted_token(*id));
                shown.collect::<Vec<_>>().join(" ")
            };
            let (ours, theirs) = (from(ours), from(theirs));
            Some(format!("of the same text, the meta template makes the tokens {ours} and the chat template {theirs}"))
        }
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
