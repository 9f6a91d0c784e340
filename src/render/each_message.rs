//! Rendering messages one by one: the rules of OpenCompass's `ChatInferencer`, which has its own parser. There are no
//! rounds: every message is written as its role speaks, and the model's turn is open.

use crate::compile::{CompiledItem, CompiledTemplate};
use crate::conversation::{ChatMessage, Conversation, Mode, opencompass_role};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::render::answer::Answer;
use crate::render::last_messages::LastMessages;
use crate::render::spoken::Spoken;
use crate::render::{Element, Part, Renderer, Segments, TemplateCut};
use crate::stop::StopCriteria;
use crate::tokenizer::TokenId;

/// Messages one by one. `begin` and `end` of the template itself are left out, and a role that the template does not
/// have writes its content without anything around it.
#[derive(Debug)]
pub struct EachMessage {
    template: Option<CompiledTemplate>,
    /// The role that the model plays.
    assistant: Option<usize>,
}

impl EachMessage {
    /// With a template, or without: then contents are written one per line.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] for a string between the roles of the round, which has no place here, and for a template
    /// without a role for the assistant.
    pub fn new(template: Option<CompiledTemplate>) -> Result<Self> {
        let assistant = match &template {
            None => None,
            Some(template) => {
                if let Some(i) = template.round.iter().position(|item| matches!(item, CompiledItem::Text(_))) {
                    let what = "a string between roles has no place if messages are written one by one, without rounds";
                    return Err(Error::from(ErrorKind::Template(what.into())))
                        .at(format_args!("meta_template.round[{i}]"));
                }
                Some(role_of(template, "assistant").ok_or_else(|| ErrorKind::UnknownRole {
                    role: "assistant".into(),
                    fallback: None,
                    known: template.role_names().map(str::to_owned).collect(),
                })?)
            }
        };
        Ok(Self { template, assistant })
    }

    fn messages<'a>(&'a self, messages: &'a [ChatMessage], mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        let last = self.last_messages(messages);
        for (i, message) in messages.iter().enumerate() {
            let part = Part { message: Some(i as u32), ..Part::default() };
            let Some(template) = &self.template else {
                if i > 0 {
                    let part = Part { element: Element::Separator, ..part };
                    segments.text("\n", part);
                }
                segments.content_ref(message.content.content_ref(), part);
                continue;
            };
            let Some(role) = role_of(template, &message.role) else {
                segments.content_ref(message.content.content_ref(), part);
                continue;
            };
            let part = Part { role: Some(role as u32), ..part };
            let (role, said) = (&template.roles[role], message.content.content_ref());
            role.check_usable().at(Place::Message(i))?;
            if role.is_left_out(&message.role).at(Place::Message(i))? || role.omits(Some(said)) {
                continue;
            }
            let answer = Answer::new(role, Some(Spoken::new(i as u32, said)), &last);
            let begin = role.generation_prompt.as_deref().filter(|_| said.opens_with_ids()).unwrap_or(&role.begin);
            answer.write_begin(begin, role.trim, part, segments);
            answer.write_content(said, role.trim, part, segments);
            segments.atoms(&role.end, Part { element: Element::RoleEnd, ..part });
        }
        if let (Some(template), Some(role), Mode::Generate) = (&self.template, self.assistant, mode) {
            let part = Part { element: Element::GenerationPrompt, role: Some(role as u32), ..Part::default() };
            let role = &template.roles[role];
            segments.atoms(role.generation_prompt.as_deref().unwrap_or(&role.begin), part);
        }
        Ok(())
    }
}

impl EachMessage {
    fn last_messages(&self, messages: &[ChatMessage]) -> LastMessages {
        match self.template.as_ref().filter(|template| template.asks_for_the_last) {
            None => LastMessages::default(),
            Some(template) => {
                let roles = messages.iter().map(|message| role_of(template, &message.role));
                LastMessages::of(role_of(template, "user"), template.roles.len(), (0..).zip(roles))
            }
        }
    }
}

impl Renderer for EachMessage {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        match conversation {
            Conversation::Text(text) => {
                segments.content(text, 0);
                Ok(())
            }
            Conversation::Messages(messages) if messages.is_empty() => Err(empty_chat()),
            Conversation::Messages(messages) => self.messages(messages, mode, segments),
            Conversation::Chat(_) => Err(conversation.would_be_lost()),
            Conversation::List(items) if items.is_empty() => Err(empty_chat()),
            Conversation::List(_) => Err(ErrorKind::Conversation(
                "a prompt list has rounds, but messages are written one by one; use {role, content} messages".into(),
            )
            .into()),
        }
    }

    fn role_names(&self) -> Vec<&str> {
        self.template.iter().flat_map(CompiledTemplate::role_names).collect()
    }

    /// As in the reference, a last answer stays, and a further one is generated.
    fn speaks_for_model(&self, _: &str) -> bool {
        false
    }

    fn stop(&self) -> StopCriteria {
        self.template.as_ref().map(|template| template.stop().clone()).unwrap_or_default()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.template.iter().flat_map(|template| template.used_tokens().iter().copied()).collect()
    }

    fn template_cut(&self) -> TemplateCut {
        TemplateCut::compiled(self.template.as_ref().is_some_and(CompiledTemplate::has_open_seams))
    }
}

/// The error for a chat without messages.
pub(super) fn empty_chat() -> Error {
    ErrorKind::Conversation("the chat has no messages, so there is nothing to answer".into()).into()
}

/// The role of OpenCompass's name for a message's role, or of the message's own.
fn role_of(template: &CompiledTemplate, name: &str) -> Option<usize> {
    template.role(opencompass_role(name)).or_else(|| template.role(name))
}
