//! From a conversation to the segments of its prompt: conversion as in other systems, and the rules for a last answer.

use std::borrow::Cow;

use crate::builder::{PromptBuilder, Shared};
use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::error::Result;
use crate::render::{Omissions, Segment, Segments, TextArena, is_answer};

impl PromptBuilder {
    /// The conversation to build: the original, or what another system converts it to first.
    ///
    /// # Errors
    /// What the chat wrapper refuses: [`ErrorKind::Sections`](crate::ErrorKind::Sections) for sections that do not fit together,
    /// [`ErrorKind::UnknownRole`](crate::ErrorKind::UnknownRole) and
    /// [`ErrorKind::RoleOutsideRound`](crate::ErrorKind::RoleOutsideRound) for a role that it does not have there,
    /// [`ErrorKind::WouldBeLost`](crate::ErrorKind::WouldBeLost) for a key that has no place, and
    /// [`ErrorKind::Conversation`](crate::ErrorKind::Conversation) for a content that has none.
    pub fn prepared<'c>(&self, conversation: &'c Conversation) -> Result<Cow<'c, Conversation>> {
        match &self.shared.chat_wrapper {
            _ if self.takes_prepared => Ok(Cow::Borrowed(conversation)),
            Some((template, each_message)) => {
                let chat = template.chat(conversation, self.shared.mode, *each_message)?;
                // An answer that a prompt list keeps was said: the wrapper has the template ask for another one.
                let is_said = matches!(conversation, Conversation::List(_)) && !self.keeps_last_answer;
                Ok(if is_said && self.leaves_out_answer(&chat) { Cow::Owned(asked(chat.into_owned())) } else { chat })
            }
            None if self.shared.compat => {
                Ok(conversation.without_parts().map_or(Cow::Borrowed(conversation), Cow::Owned))
            }
            None => Ok(Cow::Borrowed(conversation)),
        }
    }

    /// This builder for what [`Self::prepared`] returns, which is not prepared again.
    pub(crate) fn of_prepared(&self) -> Self {
        Self { takes_prepared: true, ..self.clone() }
    }

    /// This builder for what comes before a turn of a dialogue: all of that was said, so an answer at its end stays, and
    /// the model is asked for a further one.
    #[must_use]
    pub fn before_turn(&self) -> Self {
        Self { keeps_last_answer: true, ..self.clone() }
    }

    /// A conversation of which nothing may be left out: if it ends with an answer, an empty one is added, which the renderer
    /// leaves out in its place.
    pub(super) fn with_asked_turn<'c>(&self, conversation: &'c Conversation) -> Cow<'c, Conversation> {
        match self.keeps_last_answer && self.leaves_out_answer(conversation) {
            true => Cow::Owned(asked(conversation.clone())),
            false => Cow::Borrowed(conversation),
        }
    }

    /// A prompt before it is encoded.
    pub(crate) fn segments<'a>(
        &'a self,
        conversation: &'a Conversation,
        arena: &'a TextArena,
    ) -> Result<Vec<Segment<'a>>> {
        let mut segments = Segments::new(arena);
        self.render(conversation, &mut segments)?;
        Ok(segments.into_vec())
    }

    pub(super) fn render<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        let Shared { renderer, mode, open_answer, .. } = &*self.shared;
        self.render_by(conversation, segments, |segments| {
            match (*mode == Mode::Generate || *open_answer, self.continue_final_message) {
                (true, true) => renderer.render_begun_answer(conversation, segments),
                (true, false) if *mode == Mode::Score => renderer.render_scored_answer(conversation, segments),
                _ => renderer.render(conversation, *mode, segments),
            }
        })
    }

    /// Renders a conversation in one way or another, with what is done before and after it in all of them.
    pub(super) fn render_by<'a>(
        &'a self,
        conversation: &'a Conversation,
        segments: &mut Segments<'a>,
        render: impl FnOnce(&mut Segments<'a>) -> Result<()>,
    ) -> Result<()> {
        let Shared { renderer, placeholders, .. } = &*self.shared;
        if !renderer.writes_all_keys() {
            conversation.check_others()?;
        }
        render(segments)?;
        placeholders.fill(segments, conversation)
    }

    /// Whether messages with this role are the model's answers.
    pub(crate) fn speaks_for_model(&self, role: &str) -> bool {
        self.shared.renderer.speaks_for_model(role)
    }

    /// Whether messages with this role are the system's.
    pub(crate) fn speaks_for_system(&self, role: &str) -> bool {
        self.shared.renderer.speaks_for_system(role)
    }

    /// What the chat wrapper calls this role of its template: HUMAN, BOT or SYSTEM.
    pub(crate) fn wrapper_role(&self, role: &str) -> Option<&str> {
        self.shared.chat_wrapper.as_ref()?.0.named(role)?.api_role.as_deref()
    }

    /// Whether the chat wrapper's template, or else the model's, has this role.
    pub(crate) fn has_role(&self, role: &str) -> bool {
        match &self.shared.chat_wrapper {
            Some((template, _)) => template.named(role).is_some(),
            None => self.shared.renderer.role_names().contains(&role),
        }
    }

    /// What the template leaves out of a conversation because it declares so.
    pub(crate) fn omissions<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        let omissions = self.shared.renderer.omissions(conversation);
        // A chat wrapper makes messages of strings that are whole prompts, but not of those between messages.
        match &self.shared.chat_wrapper {
            Some((template, _)) => {
                Omissions { is_string: false, strings: template.strings_left_out(conversation), ..omissions }
            }
            None => omissions,
        }
    }

    /// Whether the last message is an answer that is left out because the model generates it.
    pub(crate) fn omits_answer(&self, conversation: &Conversation) -> bool {
        !self.keeps_last_answer && self.leaves_out_answer(conversation)
    }

    /// Whether something of that answer is lost.
    pub(super) fn loses_answer(&self, conversation: &Conversation) -> bool {
        let is_empty = |message: &ChatMessage| message.content.is_empty() && message.others.is_empty();
        self.omits_answer(conversation) && !conversation.messages().and_then(<[_]>::last).is_some_and(is_empty)
    }

    fn leaves_out_answer(&self, conversation: &Conversation) -> bool {
        let is_open = self.shared.mode == Mode::Generate && !self.continue_final_message;
        let renderer = &*self.shared.renderer;
        is_open && renderer.omits_final_answer() && is_answer(renderer, conversation)
    }
}

/// A conversation that ends with an answer, after which another one is asked for: it is empty, and left out.
fn asked(mut conversation: Conversation) -> Conversation {
    if let Conversation::Messages(messages) = &mut conversation
        && let Some(answer) = messages.last()
    {
        messages.push(ChatMessage::new(answer.role.clone(), ""));
    }
    conversation
}
