//! What a message says in its turn, and what of the template it replaces.

use crate::conversation::{ContentRef, Message, Prompt};
use crate::error::{ErrorKind, Result};

/// A message with its role in the template and its position in the round.
pub(super) struct PlacedMessage<'a> {
    pub(super) role: usize,
    pub(super) position: usize,
    pub(super) message: Spoken<'a>,
}

/// The content of a message, and what it replaces in the template.
#[derive(Clone, Copy)]
pub(super) struct Spoken<'a> {
    pub(super) index: u32,
    pub(super) prompt: Option<ContentRef<'a>>,
    pub(super) begin: Option<&'a str>,
    pub(super) end: Option<&'a str>,
    pub(super) generate: Option<bool>,
}

impl<'a> Spoken<'a> {
    /// A message of a prompt list.
    ///
    /// # Errors
    /// Its prompt is null.
    pub(super) fn of(message: &'a Message, index: usize) -> Result<Self> {
        if message.prompt == Prompt::Null {
            let what = format!(
                "the prompt of role {:?} is null; remove the key to use the template's default, or write \"\"",
                message.role
            );
            return Err(ErrorKind::Invalid(what).into());
        }
        Ok(Self {
            index: index as u32,
            prompt: message.prompt.content_ref(),
            begin: message.begin.as_deref(),
            end: message.end.as_deref(),
            generate: message.generate,
        })
    }

    /// An OpenAI-style message, which replaces nothing.
    pub(super) fn new(index: u32, said: ContentRef<'a>) -> Self {
        Self { index, prompt: Some(said), begin: None, end: None, generate: None }
    }
}
