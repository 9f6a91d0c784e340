//! Rendering with a meta template: the rules of OpenCompass's `LMTemplateParser`, including the quirks that evaluations
//! depend on. Anything that only crashes there works here or is a clear error.

use crate::compile::{Atom, CompiledItem, CompiledRole, CompiledTemplate};
use crate::conversation::{ChatMessage, Conversation, Item, Message, Mode, Section};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::render::last_messages::LastMessages;
use crate::render::omissions::MessageWithRole;
use crate::render::sections::{Flow, check_closed, close, outside_every_section, rounds};
use crate::render::spoken::{PlacedMessage, Spoken};
use crate::render::waiting::WaitingList;
use crate::render::{ByMessage, Element, Omissions, Part, Progress, Renderer, Segments, TemplateCut};
use crate::stop::StopCriteria;
use crate::tokenizer::TokenId;

/// A compiled meta template and how lenient it is.
#[derive(Debug)]
pub struct MetaRenderer {
    /// The template.
    pub template: CompiledTemplate,
    /// Whether `fallback_role` also counts inside rounds, as for OpenCompass's API models. Its language models stop
    /// with a KeyError there.
    pub round_fallback: bool,
}

impl Renderer for MetaRenderer {
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
        match conversation {
            Conversation::Text(text) => {
                segments.content(text, 0);
                Ok(())
            }
            Conversation::List(items) => {
                let mut writer = self.writer(mode, segments);
                writer.list(items).and_then(|()| writer.check_none_waiting(None))
            }
            Conversation::Messages(messages) => {
                self.render_from(messages, mode, Progress::default(), segments, &mut Vec::new())
            }
            Conversation::Chat(_) => Err(conversation.would_be_lost()),
        }
    }

    fn omits_final_answer(&self) -> bool {
        true
    }

    fn by_message(&self) -> Option<&dyn ByMessage> {
        Some(self)
    }

    fn role_names(&self) -> Vec<&str> {
        self.template.role_names().collect()
    }

    fn knows_role(&self, role: &str) -> bool {
        self.chat_role(role).is_some()
    }

    fn stop(&self) -> StopCriteria {
        self.template.stop().clone()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.template.used_tokens().iter().copied().collect()
    }

    fn template_cut(&self) -> TemplateCut {
        TemplateCut::compiled(self.template.has_open_seams())
    }

    fn omissions<'c>(&self, conversation: &'c Conversation) -> Omissions<'c> {
        let template = &self.template;
        if matches!(conversation, Conversation::Text(_)) {
            return Omissions { is_string: true, ..Omissions::default() };
        }
        let default_prompts = self.default_prompts_left_out(conversation);
        if !template.leaves_roles_out && !template.asks_for_the_last {
            return Omissions { default_prompts, ..Omissions::default() };
        }
        let omissions =
            Omissions::of(template, self.chat_role("user"), conversation, &self.messages_with_roles(conversation));
        Omissions { default_prompts, ..omissions }
    }

    fn speaks_for_model(&self, role: &str) -> bool {
        self.assistant().is_some_and(|assistant| self.chat_role(role) == Some(assistant))
    }

    fn speaks_for_system(&self, role: &str) -> bool {
        let system = self.chat_role("system").filter(|&system| !self.is_of_chats(system));
        system.is_some_and(|system| self.chat_role(role) == Some(system))
    }
}

impl MetaRenderer {
    pub(super) fn writer<'a, 's>(&'a self, mode: Mode, segments: &'s mut Segments<'a>) -> Writer<'a, 's> {
        let last = LastMessages::default();
        Writer { renderer: self, mode, segments, waiting: WaitingList::default(), last, has_round: false }
    }

    /// The role that speaks an OpenAI-style message, if the template has one.
    pub(super) fn chat_role(&self, name: &str) -> Option<usize> {
        self.template.chat_role(name)
    }

    /// The roles whose default prompt waits for a turn that never comes. Prompt lists have whole rounds, so all their turns
    /// come.
    fn default_prompts_left_out(&self, conversation: &Conversation) -> Vec<String> {
        let Some(messages) = conversation.messages() else { return Vec::new() };
        let user = self.chat_role("user");
        let speaker = |role: &str| self.chat_role(role).or(user.filter(|_| role == "system"));
        let never_speaks = |role: usize| messages.iter().all(|message| speaker(&message.role) != Some(role));
        let waits = |role: &&CompiledRole| role.default_prompt && !role.omits(None);
        let roles = self.template.roles.iter().filter(waits);
        roles.filter(|role| role.merge_into.is_some_and(never_speaks)).map(|role| role.name.clone()).collect()
    }

    /// Every message with its role, and the template's role that speaks it.
    fn messages_with_roles<'c>(&self, conversation: &'c Conversation) -> Vec<MessageWithRole<'c>> {
        match conversation {
            Conversation::Text(_) | Conversation::Chat(_) => Vec::new(),
            Conversation::Messages(messages) => {
                let roles = messages.iter().map(|message| &*message.role);
                (0..).zip(roles).map(|(i, role)| (i, role, self.chat_role(role))).collect()
            }
            Conversation::List(items) => {
                let each = |(i, item): (u32, &'c Item)| match item {
                    Item::Message(message) => Some((i, &*message.role, self.own_or_fallback(message))),
                    Item::Text(_) | Item::Marker(_) => None,
                };
                (0..).zip(items).filter_map(each).collect()
            }
        }
    }

    /// The role that speaks a message of a prompt list.
    fn own_or_fallback(&self, message: &Message) -> Option<usize> {
        let template = &self.template;
        let fallback = || message.fallback_role.as_deref().and_then(|role| template.role(role));
        template.role(&message.role).or_else(fallback)
    }

    pub(super) fn assistant(&self) -> Option<usize> {
        self.chat_role("assistant")
    }

    /// Whether the user or the assistant speaks with this role.
    pub(super) fn is_of_chats(&self, role: usize) -> bool {
        ["user", "assistant"].into_iter().any(|name| self.chat_role(name) == Some(role))
    }
}

pub(super) struct Writer<'a, 's> {
    pub(super) renderer: &'a MetaRenderer,
    pub(super) mode: Mode,
    pub(super) segments: &'s mut Segments<'a>,
    /// Messages that are written in a later turn.
    pub(super) waiting: WaitingList<'a>,
    pub(super) last: LastMessages,
    /// Whether a round was written.
    pub(super) has_round: bool,
}

impl<'a> Writer<'a, '_> {
    fn list(&mut self, items: &'a [Item]) -> Result<()> {
        let renderer = self.renderer;
        let template = &renderer.template;
        self.open(items.iter().filter_map(|item| match item {
            Item::Message(message) => Some(renderer.own_or_fallback(message)),
            Item::Text(_) | Item::Marker(_) => None,
        }))?;
        self.find_last(items.iter().enumerate().filter_map(|(i, item)| match item {
            Item::Message(message) => Some((i as u32, renderer.own_or_fallback(message))),
            Item::Text(_) | Item::Marker(_) => None,
        }));
        let mut flow = Flow::Continue;
        let mut open: Vec<(Section, usize)> = Vec::new();
        let mut turns = Vec::new();
        let mut examples = 0;
        for (i, item) in items.iter().enumerate() {
            let section = open.last().map(|(section, _)| *section);
            match item {
                // Also within a round, whose own text is only written when it closes.
                Item::Text(text) => {
                    let part = Part { section, message: Some(i as u32), ..Part::default() };
                    self.segments.text(text, part);
                }
                Item::Marker(marker) => {
                    let closed = close(marker, items, &mut open, i).at(Place::Item(i))?;
                    if let Some(section @ (Section::Round | Section::Ice)) = closed {
                        let example = (section == Section::Ice).then_some(examples);
                        flow = self.rounds(&turns, section, example);
                        examples += u32::from(example.is_some());
                        turns.clear();
                    }
                }
                Item::Message(message) => {
                    turns.extend(self.list_message(message, i, section).at(Place::Item(i))?);
                }
            }
            if flow == Flow::Cut {
                return Ok(());
            }
        }
        check_closed(&open)?;
        self.atoms(&template.end, Part { element: Element::End, ..Part::default() });
        Ok(())
    }

    /// Writes a message of this number, or returns its turn, which is written with its round.
    fn list_message(
        &mut self,
        message: &'a Message,
        number: usize,
        section: Option<Section>,
    ) -> Result<Option<PlacedMessage<'a>>> {
        if self.renderer.template.leaves_roles_out && self.leaves_out(message)? {
            return Ok(None);
        }
        match section {
            Some(Section::Begin | Section::End) => {
                let (role, spoken) = self.outside_rounds(message, number)?;
                let part = Part { section, role: Some(role as u32), message: Some(number as u32), ..Part::default() };
                self.speak(role, Some(spoken), part)?;
                Ok(None)
            }
            Some(Section::Round | Section::Ice) => self.turn(message, number).map(Some),
            None => Err(outside_every_section(&message.role).into()),
        }
    }

    /// Finds the last messages if the template asks for them.
    pub(super) fn find_last(&mut self, messages: impl Iterator<Item = (u32, Option<usize>)>) {
        let renderer = self.renderer;
        if renderer.template.asks_for_the_last {
            self.last = LastMessages::of(renderer.chat_role("user"), renderer.template.roles.len(), messages);
        }
    }

    fn leaves_out(&self, message: &Message) -> Result<bool> {
        let renderer = self.renderer;
        match renderer.own_or_fallback(message) {
            Some(role) => renderer.template.roles[role].is_left_out(&message.role),
            None => Ok(false),
        }
    }

    /// Writes what is before a round that is not the first.
    pub(super) fn write_between(&mut self) {
        if self.has_round {
            let part = Part { element: Element::Between, section: Some(Section::Round), ..Part::default() };
            self.atoms(&self.renderer.template.between, part);
        }
        self.has_round = true;
    }

    /// Writes the beginning of every prompt: the template's `begin`, and the roles with a default prompt that are not
    /// among the first speakers.
    pub(super) fn open(&mut self, speakers: impl Iterator<Item = Option<usize>> + Clone) -> Result<()> {
        let template = &self.renderer.template;
        let has_default = |role: &usize| template.roles[*role].default_prompt;
        let first = speakers.map_while(|role| role.filter(has_default));
        self.atoms(&template.begin, Part { element: Element::Begin, ..Part::default() });
        for (index, role) in template.roles.iter().enumerate() {
            if role.default_prompt && !first.clone().any(|speaker| speaker == index) {
                let part = Part { section: Some(Section::Begin), role: Some(index as u32), ..Part::default() };
                self.speak(index, None, part)?;
            }
        }
        Ok(())
    }

    /// The role that speaks an OpenAI-style message, and whether it is only a substitute.
    pub(super) fn chat_role(&self, message: &ChatMessage) -> Result<(usize, bool)> {
        let renderer = self.renderer;
        if let Some(role) = renderer.chat_role(&message.role) {
            return Ok((role, false));
        }
        if message.role != "system" {
            return Err(self.unknown(&message.role, None));
        }
        Ok((renderer.chat_role("user").ok_or_else(|| self.unknown(&message.role, Some("HUMAN")))?, true))
    }

    /// A message of the sections begin and end, which speaks by itself.
    fn outside_rounds(&self, message: &'a Message, index: usize) -> Result<(usize, Spoken<'a>)> {
        let role = self.renderer.own_or_fallback(message);
        let role = role.ok_or_else(|| self.unknown(&message.role, message.fallback_role.as_deref()))?;
        Ok((role, Spoken::of(message, index)?))
    }

    /// A message of a round or example with its position in the template's round.
    fn turn(&self, message: &'a Message, index: usize) -> Result<PlacedMessage<'a>> {
        let template = &self.renderer.template;
        let position = |role: usize| template.roles[role].position.map(|position| (role, position));
        let own = template.role(&message.role).and_then(position);
        let fallback = message.fallback_role.as_deref().filter(|_| self.renderer.round_fallback);
        let found = own.or_else(|| fallback.and_then(|role| template.role(role)).and_then(position));
        let (role, position) =
            found.ok_or_else(|| self.not_in_round(&message.role, message.fallback_role.is_some()))?;
        Ok(PlacedMessage { role, position, message: Spoken::of(message, index)? })
    }

    /// Writes a dialogue round by round. Only the last round of a dialogue can be cut.
    fn rounds(&mut self, turns: &[PlacedMessage<'a>], section: Section, example: Option<u32>) -> Flow {
        let is_open = section == Section::Round && self.mode == Mode::Generate;
        for (round, is_last) in rounds(turns, |turn| turn.position) {
            if self.round(round, section, example, is_open && is_last) == Flow::Cut {
                return Flow::Cut;
            }
        }
        Flow::Continue
    }

    fn round(&mut self, turns: &[PlacedMessage<'a>], section: Section, example: Option<u32>, cut: bool) -> Flow {
        let part = Part { section: Some(section), example, ..Part::default() };
        self.write_between();
        for item in &self.renderer.template.round {
            match item {
                CompiledItem::Text(atoms) => self.atoms(atoms, Part { element: Element::RoundText, ..part }),
                CompiledItem::Role(role) => {
                    let spoken = turns.iter().find(|turn| turn.role == *role).map(|turn| turn.message);
                    let message = spoken.map(|spoken| spoken.index);
                    if self.role(*role, spoken, Part { role: Some(*role as u32), message, ..part }, cut) == Flow::Cut {
                        return Flow::Cut;
                    }
                }
            }
        }
        Flow::Continue
    }

    pub(super) fn atoms(&mut self, atoms: &'a [Atom], part: Part) {
        self.segments.atoms(atoms, part);
    }

    pub(super) fn unknown(&self, role: &str, fallback: Option<&str>) -> Error {
        ErrorKind::UnknownRole {
            role: role.to_owned(),
            fallback: fallback.map(str::to_owned),
            known: self.renderer.template.role_names().map(str::to_owned).collect(),
        }
        .into()
    }

    fn not_in_round(&self, role: &str, has_fallback: bool) -> Error {
        // A role that could not speak anywhere.
        if !has_fallback && !self.renderer.template.role_names().any(|known| known == role) {
            return self.unknown(role, None);
        }
        let known = self.renderer.template.round_role_names();
        ErrorKind::RoleOutsideRound {
            role: role.to_owned(),
            known,
            has_fallback: has_fallback && !self.renderer.round_fallback,
        }
        .into()
    }
}
