//! What is built: chats and plain texts of pieces of a real text.

use std::sync::Arc;

use metatok::{AddSpecialTokens, BuilderOptions, ContentTrust, Conversation, Model, PromptBuilder, TokenId, Tokenizer};

use crate::chat_format;
use crate::text::Text;

/// Characters of the questions and answers of five-shot prompts, and of chats.
const SHOT: [usize; 2] = [200, 270];
const TURN: [usize; 2] = [350, 1100];
const SHORT_QUESTION: usize = 50;
const SHOTS: usize = 5;

/// Measured rounds, after one to warm.
pub(crate) const ROUNDS: usize = 7;

/// What a workload is, before there is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Five examples that all prompts share, and a new question.
    FewShot,
    /// Three questions and two answers, nothing twice.
    Chat,
    /// Five examples and a new question in one string, without control tokens.
    Plain,
    /// One short question.
    Short,
}

/// A workload by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    kind: Kind,
    /// Whether the text is the one in many languages.
    pub(crate) multilingual: bool,
    /// Whether there are only as many prompts as the text gives without beginning again.
    once: bool,
    /// ChatML by strings also where the tokenizer has no tokens for it.
    chatml: bool,
}

pub(crate) const W1: Workload =
    Workload { name: "W1 five-shot chat", kind: Kind::FewShot, multilingual: false, once: false, chatml: false };
pub(crate) const W2: Workload = Workload { name: "W2 chat", kind: Kind::Chat, ..W1 };
const W3: Workload = Workload { name: "W3 five-shot text", kind: Kind::Plain, ..W1 };
pub(crate) const SHORT: Workload = Workload { name: "short questions", kind: Kind::Short, ..W1 };

pub(crate) const WORKLOADS: [Workload; 7] = [
    W1,
    Workload { name: "W1-chatml, its marks are text", chatml: true, ..W1 },
    W2,
    Workload { name: "W2-fresh, no text twice", once: true, ..W2 },
    Workload { name: "W2-multilingual", multilingual: true, ..W2 },
    W3,
    Workload { name: "W3-multilingual", multilingual: true, ..W3 },
];

/// A prompt: for metatok, for a peer, and its ids.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) conversation: Conversation,
    /// The joined string.
    pub(crate) text: String,
    /// What the reference gives, once it was asked.
    pub(crate) ids: Vec<TokenId>,
}

/// The prompts of one workload and one tokenizer.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) model: Model,
    /// The first one is for warming.
    pub(crate) rounds: Vec<Vec<Prompt>>,
    /// What is to be known about the text.
    pub(crate) note: Option<String>,
}

impl Workload {
    /// None if it is the same as another one for this tokenizer.
    pub(crate) fn make(&self, text: &Text, tokenizer: &Arc<Tokenizer>, prompts: usize) -> Option<Made> {
        let (format, mut model) = chat_format::of(tokenizer);
        if self.chatml {
            if format == "ChatML" {
                return None;
            }
            model = chat_format::chatml();
        }
        if self.kind == Kind::Plain {
            model = Model::default();
        }
        Some(self.make_for(model, text, tokenizer, prompts))
    }

    /// With this model's template.
    pub(crate) fn make_for(&self, model: Model, text: &Text, tokenizer: &Arc<Tokenizer>, prompts: usize) -> Made {
        let special = tokenizer.added_tokens().filter(|token| token.special);
        let special: Vec<String> = special.map(|token| token.content.clone()).collect();
        let mut text = text.avoiding(&special);
        let prompts = if self.once { prompts.min(self.prompts_in(&text)) } else { prompts };
        let joiner = builder(&model, tokenizer, ContentTrust::Trusted, true);
        let mut next = self.conversations(&mut text);
        let mut prompt = || {
            let conversation = next();
            let built = joiner.build(&conversation).expect("it builds");
            Prompt { conversation, text: built.text.expect("it was asked for"), ids: Vec::new() }
        };
        let rounds = (0..=ROUNDS).map(|_| (0..prompts).map(|_| prompt()).collect()).collect();
        drop(next);
        let note = match text.passes {
            1 if self.once => Some(format!("{}: {prompts} prompts a round, so that no text comes twice", self.name)),
            1 => None,
            passes => Some(format!("{}: the text began {passes} times, each time cut at other places", self.name)),
        };
        Made { model, rounds, note }
    }

    /// How many prompts a round may have for all of the text to be new.
    fn prompts_in(&self, text: &Text) -> usize {
        let [question, answer] = TURN;
        // A few pieces are left out, because they are white space or have special tokens.
        text.chars() * 95 / 100 / (3 * question + 2 * answer) / (ROUNDS + 1)
    }

    /// Makes one conversation after the other.
    fn conversations<'t>(&self, text: &'t mut Text) -> Box<dyn FnMut() -> Conversation + 't> {
        let [question, answer] = SHOT;
        match self.kind {
            Kind::FewShot => {
                let shots: Vec<_> = (0..SHOTS).map(|_| (text.take(question), text.take(answer))).collect();
                Box::new(move || {
                    let examples =
                        shots.iter().flat_map(|(question, answer)| [("user", &**question), ("assistant", &**answer)]);
                    examples.chain([("user", &*text.take(question))]).collect()
                })
            }
            Kind::Chat => Box::new(move || {
                let turn = |i: usize| if i.is_multiple_of(2) { ("user", TURN[0]) } else { ("assistant", TURN[1]) };
                let messages: Vec<_> = (0..5).map(turn).map(|(role, length)| (role, text.take(length))).collect();
                messages.iter().map(|(role, content)| (*role, content.as_str())).collect()
            }),
            Kind::Short => Box::new(move || [("user", &*text.take(SHORT_QUESTION))].into_iter().collect()),
            Kind::Plain => {
                let mut shot = |_| format!("Question: {}\nAnswer: {}\n\n", text.take(question), text.take(answer));
                let shots: String = (0..SHOTS).map(&mut shot).collect();
                Box::new(move || Conversation::Text(format!("{shots}Question: {}\nAnswer:", text.take(question))))
            }
        }
    }
}

/// A builder without the special tokens that the tokenizer adds, as the peers encode.
pub(crate) fn builder(model: &Model, tokenizer: &Arc<Tokenizer>, content: ContentTrust, text: bool) -> PromptBuilder {
    let special_tokens = Some(AddSpecialTokens::Never);
    let options = BuilderOptions { content, special_tokens, text, ..BuilderOptions::default() };
    PromptBuilder::new(model, Arc::clone(tokenizer), &options).expect("the template fits")
}
