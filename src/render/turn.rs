//! One turn: what comes before a role's content, the content, the messages merged into it, and what comes after.

use crate::compile::{Atom, CompiledRole};
use crate::conversation::{ChatMessage, ContentRef};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::render::meta::Writer;
use crate::render::sections::Flow;
use crate::render::spoken::{Spoken, Waiting};
use crate::render::{Element, Part};

impl<'a> Writer<'a, '_> {
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
    pub(super) fn nobody_waits(&self, messages: Option<&[ChatMessage]>) -> Result<()> {
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
}
