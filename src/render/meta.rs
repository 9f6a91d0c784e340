//! Rendering with a meta template: the rules of OpenCompass's `LMTemplateParser`, including the quirks that evaluations
//! depend on. Anything that only crashes there works here or is a clear error.

use crate::compile::{Atom, CompiledItem, CompiledRole, CompiledTemplate};
use crate::conversation::{ChatMessage, ContentRef, Conversation, Item, Message, Mode, Section, opencompass_role};
use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::render::sections::{Flow, close};
use crate::render::spoken::{PlacedMessage, Spoken};
use crate::render::{Element, Part, Renderer, Segments, TemplateCut};
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
        let mut writer = Writer { renderer: self, mode, segments, waiting: Vec::new() };
        match conversation {
            Conversation::Text(text) => {
                writer.segments.content(text, 0);
                Ok(())
            }
            Conversation::List(items) => writer.list(items).and_then(|()| writer.nobody_waits(None)),
            Conversation::Messages(messages) => {
                writer.messages(messages).and_then(|()| writer.nobody_waits(Some(messages)))
            }
            Conversation::Chat(_) => Err(conversation.would_be_lost()),
        }
    }

    fn role_names(&self) -> Vec<&str> {
        self.template.role_names().collect()
    }

    fn stop(&self) -> StopCriteria {
        self.template.stop().clone()
    }

    fn used_tokens(&self) -> Vec<TokenId> {
        self.template.used_tokens().iter().copied().collect()
    }

    fn template_text(&self) -> TemplateCut {
        TemplateCut::compiled(self.template.has_open_seams())
    }

    fn speaks_for_model(&self, role: &str) -> bool {
        self.assistant().is_some_and(|assistant| self.chat_role(role) == Some(assistant))
    }
}

impl MetaRenderer {
    /// The role that speaks an OpenAI-style message, if the template has one.
    fn chat_role(&self, name: &str) -> Option<usize> {
        let template = &self.template;
        let spoken_as = |name: &str| template.api_role(name).or_else(|| template.role(name));
        template.role(name).or_else(|| match opencompass_role(name) {
            own if own == name => None,
            own => spoken_as(own),
        })
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
    segments: &'s mut Segments<'a>,
    /// A message that is written in a later turn.
    waiting: Vec<Waiting<'a>>,
}

/// The content of a role without a turn of its own.
struct Waiting<'a> {
    role: usize,
    spoken: Option<Spoken<'a>>,
    part: Part,
}

impl<'a> Writer<'a, '_> {
    fn list(&mut self, items: &'a [Item]) -> Result<()> {
        let template = &self.renderer.template;
        self.open(|this, role| {
            let speaks = |message: &Message| this.own_or_fallback(message) == Some(role);
            items.iter().any(|item| matches!(item, Item::Message(message) if speaks(message)))
        })?;
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
                Item::Message(message) => match section {
                    Some(section @ (Section::Begin | Section::End)) => {
                        let (role, spoken) = self.alone(message, i).at(Place::Item(i))?;
                        let part = Part {
                            section: Some(section),
                            role: Some(role as u32),
                            message: Some(i as u32),
                            ..Part::default()
                        };
                        self.speak(role, Some(spoken), part).at(Place::Item(i))?;
                    }
                    Some(Section::Round | Section::Ice) => turns.push(self.turn(message, i).at(Place::Item(i))?),
                    None => {
                        return Err(Error::from(ErrorKind::Sections(format!(
                            "the message of role {:?} is outside every section; put {{\"section\": \"round\", \"pos\": \"begin\"}} before it and a marker with \"end\" after it", message.role
                        ))).at(Place::Item(i)));
                    }
                },
            }
            if flow == Flow::Cut {
                return Ok(());
            }
        }
        if let Some((section, at)) = open.first() {
            return Err(Error::from(ErrorKind::Sections(format!(
                "the section {:?} that begins here has no end",
                section.name()
            )))
            .at(Place::Item(*at)));
        }
        self.atoms(&template.end, Part { element: Element::End, ..Part::default() });
        Ok(())
    }

    /// Writes the beginning of every prompt: the template's `begin`, and the roles with a default prompt.
    pub(super) fn open(&mut self, speaks: impl Fn(&Self, usize) -> bool) -> Result<()> {
        let template = &self.renderer.template;
        self.atoms(&template.begin, Part { element: Element::Begin, ..Part::default() });
        for (index, role) in template.roles.iter().enumerate() {
            if role.default_prompt && !speaks(self, index) {
                let part = Part { section: Some(Section::Begin), role: Some(index as u32), ..Part::default() };
                self.speak(index, None, part)?;
            }
        }
        Ok(())
    }

    /// Writes a message outside rounds: at once, or in a later turn.
    pub(super) fn speak(&mut self, role: usize, spoken: Option<Spoken<'a>>, part: Part) -> Result<()> {
        let template = &self.renderer.template.roles[role];
        template.check_usable()?;
        if template.merge_into.is_some() {
            self.waiting.push(Waiting { role, spoken, part });
        } else {
            self.role(role, spoken, part, false);
        }
        Ok(())
    }

    /// A message whose turn never comes would be lost; the template's own text may be.
    fn nobody_waits(&self, messages: Option<&[ChatMessage]>) -> Result<()> {
        let roles = &self.renderer.template.roles;
        let Some((waiting, spoken)) = self.waiting.iter().find_map(|waiting| Some((waiting, waiting.spoken?))) else {
            return Ok(());
        };
        let role = &roles[waiting.role];
        let merge_into = role.merge_into.map(|target| roles[target].name.clone()).unwrap_or_default();
        let Some(messages) = messages else {
            let error = Error::from(ErrorKind::NoTurnToMergeInto { role: role.name.clone(), merge_into });
            return Err(error.at(Place::Item(spoken.index as usize)));
        };
        // Messages name roles in their own way.
        let role = messages[spoken.index as usize].role.to_string();
        let is_user = roles[waiting.role].merge_into == self.renderer.chat_role("user");
        let merge_into = if is_user { "user".to_owned() } else { merge_into };
        Err(Error::from(ErrorKind::NoTurnToMergeInto { role, merge_into }).at(Place::Message(spoken.index as usize)))
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
    fn alone(&self, message: &'a Message, index: usize) -> Result<(usize, Spoken<'a>)> {
        let role = self.own_or_fallback(message);
        let role = role.ok_or_else(|| self.unknown(&message.role, message.fallback_role.as_deref()))?;
        Ok((role, Spoken::of(message, index)?))
    }

    fn own_or_fallback(&self, message: &Message) -> Option<usize> {
        let template = &self.renderer.template;
        let fallback = || message.fallback_role.as_deref().and_then(|role| template.role(role));
        template.role(&message.role).or_else(fallback)
    }

    /// A message of a round or example with its position in the template's round.
    fn turn(&self, message: &'a Message, index: usize) -> Result<PlacedMessage<'a>> {
        let template = &self.renderer.template;
        let position = |role: usize| template.roles[role].position.map(|position| (role, position));
        let own = template.role(&message.role).and_then(position);
        let fallback = message.fallback_role.as_deref().filter(|_| self.renderer.round_fallback);
        let found = own.or_else(|| fallback.and_then(|role| template.role(role)).and_then(position));
        let (role, position) =
            found.ok_or_else(|| self.outside_round(&message.role, message.fallback_role.is_some()))?;
        Ok(PlacedMessage { role, position, message: Spoken::of(message, index)? })
    }

    /// Writes a dialogue round by round. A new round begins with every message whose role does not come later in the
    /// round than the previous one. Only the last round of a dialogue can be cut.
    fn rounds(&mut self, turns: &[PlacedMessage<'a>], section: Section, example: Option<u32>) -> Flow {
        let mut start = 0;
        loop {
            let mut end = start + 1;
            while end < turns.len() && turns[end].position > turns[end - 1].position {
                end += 1;
            }
            let is_last = end >= turns.len();
            let cut = is_last && section == Section::Round && self.mode == Mode::Generate;
            let flow = self.round(&turns[start..end.min(turns.len())], section, example, cut);
            if is_last {
                return flow;
            }
            start = end;
        }
    }

    fn round(&mut self, turns: &[PlacedMessage<'a>], section: Section, example: Option<u32>, cut: bool) -> Flow {
        let part = Part { section: Some(section), example, ..Part::default() };
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

    pub(super) fn role(&mut self, index: usize, spoken: Option<Spoken<'a>>, part: Part, cut: bool) -> Flow {
        let renderer = self.renderer;
        let role: &'a CompiledRole = &renderer.template.roles[index];
        let own_begin = spoken.and_then(|spoken| spoken.begin);
        if cut && spoken.and_then(|spoken| spoken.generate).unwrap_or(role.generate) {
            let generation_prompt = role.generation_prompt.as_deref().unwrap_or(&role.begin);
            self.replaceable(own_begin, generation_prompt, Part { element: Element::GenerationPrompt, ..part });
            return Flow::Cut;
        }
        let prompt = spoken.and_then(|spoken| spoken.prompt);
        let is_answer = prompt.is_some_and(ContentRef::opens_with_ids);
        let begin = role.generation_prompt.as_deref().filter(|_| is_answer).unwrap_or(&role.begin);
        self.replaceable(own_begin, begin, Part { element: Element::RoleBegin, ..part });
        if !self.waiting.is_empty() {
            self.others_merged_into(index);
        }
        match prompt {
            Some(said) => self.segments.say(said, Part { element: Element::Content, ..part }),
            None => self.atoms(&role.prompt, Part { element: Element::DefaultPrompt, ..part }),
        }
        self.replaceable(spoken.and_then(|spoken| spoken.end), &role.end, Part { element: Element::RoleEnd, ..part });
        Flow::Continue
    }

    /// The messages that waited for a turn of this role are written in it.
    fn others_merged_into(&mut self, role: usize) {
        let roles = &self.renderer.template.roles;
        for Waiting { role, spoken, part } in
            self.waiting.extract_if(.., |waiting| roles[waiting.role].merge_into == Some(role)).collect::<Vec<_>>()
        {
            self.role(role, spoken, part, false);
        }
    }

    /// The message's own text, or else the template's.
    fn replaceable(&mut self, own: Option<&'a str>, atoms: &'a [Atom], part: Part) {
        match own {
            Some("") => {}
            Some(text) => self.segments.text(text, Part { element: Element::Content, ..part }),
            None => self.atoms(atoms, part),
        }
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

    fn outside_round(&self, role: &str, has_fallback: bool) -> Error {
        let known = self.renderer.template.round_role_names();
        ErrorKind::RoleOutsideRound {
            role: role.to_owned(),
            known,
            has_fallback: has_fallback && !self.renderer.round_fallback,
        }
        .into()
    }
}
