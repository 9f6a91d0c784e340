//! What a prompt is written as: token ids, or messages.

use crate::builder::{PromptBuilder, Session};
use crate::conversation::{Conversation, Mode, refuse_images};
use crate::dataset::RowPrompt;
use crate::error::{At, ErrorKind, Result};
use crate::render::ApiTemplate;
use crate::sink::{Built, Jsonl, Key, MessagesJsonl, Sink};
use crate::tokenizer::TokenId;

/// What is written, and what makes it. Shared by all threads.
pub(crate) enum Form {
    Ids(Box<Ids>),
    Messages(Messages),
}

pub(crate) struct Ids {
    pub(crate) builder: PromptBuilder,
    pub(crate) sink: Jsonl,
    pub(crate) text: bool,
    pub(crate) labels: bool,
}

pub(crate) struct Messages {
    pub(crate) template: ApiTemplate,
    pub(crate) each_message: bool,
    pub(crate) mode: Mode,
    pub(crate) sink: MessagesJsonl,
}

/// Writes prompts one after the other, on one thread.
pub(crate) enum Writer<'f> {
    Ids(&'f Ids, Session<'f>),
    Messages(&'f Messages),
}

/// How much was written.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) tokens: u64,
    /// The special tokens that the prompt had already.
    pub(crate) omitted: Vec<TokenId>,
}

impl Form {
    pub(crate) fn writer(&self) -> Writer<'_> {
        match self {
            Self::Ids(ids) => Writer::Ids(ids, ids.builder.session()),
            Self::Messages(messages) => Writer::Messages(messages),
        }
    }
}

impl Writer<'_> {
    /// How many tokens a prompt has; as messages, an estimate.
    pub(crate) fn tokens(&mut self, conversation: &Conversation) -> Result<usize> {
        match self {
            Self::Ids(_, session) => Ok(session.build(conversation)?.input_ids.len()),
            Self::Messages(Messages { template, mode, .. }) => {
                Ok(template.prompt(conversation, *mode)?.estimated_tokens())
            }
        }
    }

    /// Appends a prompt.
    pub(crate) fn write(&mut self, id: &str, prompt: &RowPrompt, out: &mut Vec<u8>) -> Result<Written> {
        let RowPrompt { label, is_normalizing, turn, scored, choices, conversation } = prompt;
        let key = Key { id, label: label.as_ref(), is_normalizing: *is_normalizing, turn: *turn };
        match self {
            Self::Ids(Ids { builder, sink, text, labels }, session) => {
                let mut prompt = session.build(conversation)?;
                let labels = match *labels {
                    true => prompt.labels(scored.bytes(prompt.text.as_deref().unwrap_or_default())?),
                    false => None,
                };
                if !*text {
                    prompt.text = None;
                }
                let choice_ids = choices.iter().map(|choice| one_token(choice, builder));
                let choice_ids = choice_ids.collect::<Result<Vec<_>>>().at("column \"choices\"")?;
                sink.write(&key, &Built { prompt: &prompt, labels: labels.as_deref(), choice_ids: &choice_ids }, out);
                Ok(Written { tokens: prompt.input_ids.len() as u64, omitted: prompt.omitted })
            }
            Self::Messages(Messages { template, each_message, mode, sink }) => {
                let mut messages = match conversation {
                    // One by one they stay as they are.
                    Conversation::Messages(messages) if *each_message => messages.clone(),
                    conversation => template.messages(conversation, *mode)?,
                };
                // As in token ids, the turn that the model is to take is its own.
                while *mode == Mode::Generate && messages.last().is_some_and(|last| last.role == "assistant") {
                    messages.pop();
                }
                refuse_images(&messages)?;
                sink.write(&key, &messages, out);
                Ok(Written::default())
            }
        }
    }
}

/// A choice must be one token, for the model's next token is what is compared.
fn one_token(choice: &str, builder: &PromptBuilder) -> Result<TokenId> {
    match builder.tokenizer().encode(choice)?[..] {
        [id] => Ok(id),
        ref ids => Err(ErrorKind::Template(format!(
            "the choice {choice:?} is {} tokens, and the model's next one is compared; name choices that are one token each, or score them with PPLInferencer",
            ids.len()
        ))
        .into()),
    }
}
