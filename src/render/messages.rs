//! Rendering OpenAI-style messages with a meta template: each is written as its role speaks, in order. No turn is
//! invented for a role without a message.

use crate::compile::CompiledItem;
use crate::conversation::{ChatMessage, Mode, Section};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::render::final_message::without_answer;
use crate::render::meta::{MetaRenderer, Writer};
use crate::render::spoken::Spoken;
use crate::render::{ByMessage, Element, MessageEnd, Part, Progress, Segments};

impl ByMessage for MetaRenderer {
    fn rendered_messages<'m>(&self, messages: &'m [ChatMessage], mode: Mode) -> &'m [ChatMessage] {
        without_answer(self, messages, mode)
    }

    fn roles_matter(&self) -> bool {
        // Of one role with a default prompt, the first message tells whether it is written.
        let defaults = self.template.roles.iter().filter(|role| role.default_prompt).count();
        self.template.asks_for_the_last || defaults > 1
    }

    fn render_from<'a>(
        &'a self,
        messages: &'a [ChatMessage],
        mode: Mode,
        before: Progress,
        segments: &mut Segments<'a>,
        ends: &mut Vec<MessageEnd>,
    ) -> Result<()> {
        let mut writer = self.writer(mode, segments);
        writer.messages(messages, before, ends)?;
        writer.check_none_waiting(Some(messages))
    }
}

impl<'a> Writer<'a, '_> {
    fn messages(&mut self, messages: &'a [ChatMessage], before: Progress, ends: &mut Vec<MessageEnd>) -> Result<()> {
        if messages.is_empty() {
            return Err(ErrorKind::EmptyConversation.into());
        }
        let is_open = self.mode == Mode::Generate;
        let generating = if is_open { self.generating()? } else { None };
        let renderer = self.renderer;
        let said = renderer.rendered_messages(messages, self.mode);
        self.find_last(said.iter().enumerate().map(|(i, message)| (i as u32, renderer.chat_role(&message.role))));
        if before.messages == 0 {
            self.open(said.iter().map(|message| renderer.chat_role(&message.role)))?;
        }
        let (mut round, has_round) = Round::of_state(before.state);
        self.has_round = has_round;
        for (i, message) in said.iter().enumerate().skip(before.messages) {
            self.message(message, i as u32, &mut round).at(Place::Message(i))?;
            if self.waiting.is_empty() && ends.len() == i - before.messages {
                let progress = Progress { messages: i + 1, state: round.to_state(self.has_round) };
                ends.push(MessageEnd { segments: self.segments.list.len(), progress });
            }
        }
        match generating {
            Some(role) => {
                if let Some(position) = self.renderer.template.roles[role].position {
                    self.go_to(position, &mut round);
                }
                self.generation_prompt(role);
            }
            None => {
                if round.at == self.after_roles() {
                    self.texts(round.at);
                }
                self.atoms(&self.renderer.template.end, Part { element: Element::End, ..Part::default() });
            }
        }
        Ok(())
    }

    fn message(&mut self, message: &'a ChatMessage, index: u32, round: &mut Round) -> Result<()> {
        let (role, by_fallback) = self.chat_role(message)?;
        let template = &self.renderer.template.roles[role];
        let spoken = Spoken::new(index, message.content.content_ref());
        if template.is_left_out(&message.role)? || self.omits(role, Some(spoken)) {
            return Ok(());
        }
        let part = Part { role: Some(role as u32), message: Some(index), ..Part::default() };
        let position = template.position;
        match position.filter(|_| !by_fallback || (self.renderer.round_fallback && round.has_begun)) {
            Some(position) => {
                self.go_to(position, round);
                round.at = position + 1;
                self.role(role, Some(spoken), Part { section: Some(Section::Round), ..part }, false);
            }
            None if by_fallback && round.has_begun => return Err(self.no_place(&message.role)),
            None => {
                let section = if round.has_begun { Section::Round } else { Section::Begin };
                self.speak(role, Some(spoken), Part { section: Some(section), ..part })?;
            }
        }
        Ok(())
    }

    /// Moves on to a position of the round, or of the next round if that position is past. What is between is written:
    /// the round's own texts, and roles that are neither the user's nor the assistant's, with their default prompts.
    fn go_to(&mut self, position: usize, round: &mut Round) {
        let is_past = position < round.at;
        if is_past {
            self.texts(self.after_roles());
            round.at = 0;
        }
        if is_past || !round.has_begun {
            self.write_between();
        }
        round.has_begun = true;
        let template = &self.renderer.template;
        let part = Part { section: Some(Section::Round), ..Part::default() };
        for item in &template.round[round.at..position] {
            match item {
                CompiledItem::Text(atoms) => self.atoms(atoms, Part { element: Element::RoundText, ..part }),
                CompiledItem::Role(role) if self.renderer.is_of_chats(*role) => {}
                CompiledItem::Role(role) => {
                    self.role(*role, None, Part { role: Some(*role as u32), ..part }, false);
                }
            }
        }
    }

    /// The position in the round after its last role, where there are only texts.
    fn after_roles(&self) -> usize {
        let is_role = |item: &CompiledItem| matches!(item, CompiledItem::Role(_));
        self.renderer.template.round.iter().rposition(is_role).map_or(0, |last| last + 1)
    }

    fn texts(&mut self, from: usize) {
        for item in &self.renderer.template.round[from..] {
            if let CompiledItem::Text(atoms) = item {
                let part = Part { element: Element::RoundText, section: Some(Section::Round), ..Part::default() };
                self.atoms(atoms, part);
            }
        }
    }

    fn generation_prompt(&mut self, index: usize) {
        let role = &self.renderer.template.roles[index];
        let atoms = role.generation_prompt.as_deref().unwrap_or(&role.begin);
        let part = Part { section: Some(Section::Round), role: Some(index as u32), ..Part::default() };
        self.atoms(atoms, Part { element: Element::GenerationPrompt, ..part });
    }

    /// The role with which the model speaks; none if the template has no role for it, and ends with the last message.
    fn generating(&self) -> Result<Option<usize>> {
        let roles = &self.renderer.template.roles;
        let Some(assistant) = self.renderer.assistant() else { return Ok(None) };
        if roles[assistant].generate {
            return Ok(Some(assistant));
        }
        let own = &roles[assistant].name;
        let what = match roles.iter().find(|role| role.generate) {
            None => {
                format!("no role has generate = true, which marks where the model speaks; set it for role {own:?}")
            }
            Some(other) => {
                let (what, shared) = (
                    format!("role {:?} has generate = true, but the assistant speaks as role {own:?}", other.name),
                    other.api_role.as_ref().filter(|name| roles[assistant].api_role.as_ref() == Some(name)),
                );
                match shared {
                    Some(name) => format!("{what}, the first one with api_role = {name:?}; remove that there"),
                    None => format!("{what}; set it there instead"),
                }
            }
        };
        Err(Error::from(ErrorKind::NoGeneratingRole(what)).at("meta_template"))
    }

    /// The error for a message that uses another role if that would invent a turn.
    fn no_place(&self, role: &str) -> Error {
        let what = format!("the template has no role for a {role:?} message that comes after others");
        ErrorKind::Conversation(what)
            .with_way_out("put it first, or put its text in a user message (round_fallback writes it as one)")
    }
}

/// The progress in the round that is being written.
#[derive(Default)]
struct Round {
    has_begun: bool,
    /// The position after the role that spoke last.
    at: usize,
}

impl Round {
    /// As a number, with whether any round was written.
    fn to_state(&self, has_round: bool) -> u64 {
        (self.at as u64) << 2 | u64::from(self.has_begun) << 1 | u64::from(has_round)
    }

    /// What [`Self::to_state`] wrote.
    fn of_state(state: u64) -> (Self, bool) {
        (Self { has_begun: state & 2 != 0, at: (state >> 2) as usize }, state & 1 != 0)
    }
}
