//! One turn: what comes before a role's content, the content, the messages merged into it, and what comes after.

use crate::compile::{Atom, CompiledRole};
use crate::conversation::{ChatMessage, ContentRef};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::render::answer::Answer;
use crate::render::meta::Writer;
use crate::render::sections::Flow;
use crate::render::spoken::Spoken;
use crate::render::trim::trim;
use crate::render::waiting::Waiting;
use crate::render::{ByMessage, Element, Part};
use crate::template::Trim;

impl<'a> Writer<'a, '_> {
    /// Writes a message outside rounds: at once, or in a later turn.
    pub(super) fn speak(&mut self, role: usize, spoken: Option<Spoken<'a>>, part: Part) -> Result<()> {
        let roles = &self.renderer.template.roles;
        roles[role].check_usable()?;
        if !self.omits(role, spoken) && !self.waiting.add(roles, role, spoken, part) {
            self.role(role, spoken, part, false);
        }
        Ok(())
    }

    /// A message whose turn never comes would be lost; the template's own text may be.
    pub(super) fn check_none_waiting(&self, messages: Option<&[ChatMessage]>) -> Result<()> {
        let roles = &self.renderer.template.roles;
        let Some((waiting, spoken)) = self.waiting.first_message() else { return Ok(()) };
        let role = &roles[waiting];
        let merge_into = role.merge_into.map(|target| roles[target].name.clone()).unwrap_or_default();
        let is_last = role.merges_into_last;
        let Some(messages) = messages else {
            let (role, is_left_out) = (role.name.clone(), false);
            let error = Error::from(ErrorKind::NoTurnToMergeInto { role, merge_into, is_last, is_left_out });
            return Err(error.at(Place::Item(spoken.index as usize)));
        };
        let target = role.merge_into;
        let left_out = &messages[self.renderer.rendered_messages(messages, self.mode).len()..];
        let is_left_out = left_out.iter().any(|message| self.renderer.chat_role(&message.role) == target);
        // Messages name roles in their own way.
        let role = messages[spoken.index as usize].role.to_string();
        let is_user = roles[waiting].merge_into == self.renderer.chat_role("user");
        let merge_into = if is_user { "user".to_owned() } else { merge_into };
        Err(Error::from(ErrorKind::NoTurnToMergeInto { role, merge_into, is_last, is_left_out })
            .at(Place::Message(spoken.index as usize)))
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
        if self.omits(index, spoken) {
            return Flow::Continue;
        }
        if role.thoughts.is_none()
            && self.waiting.is_empty()
            && let Some(Spoken { prompt: Some(said @ ContentRef::Text(_)), begin: None, end: None, .. }) = spoken
        {
            // Nearly all turns: the same in fewer steps.
            self.atoms(&role.begin, Part { element: Element::RoleBegin, ..part });
            let content = self.segments.list.len();
            self.segments.content_ref(said, Part { element: Element::Content, ..part });
            if role.trim != Trim::None {
                trim(&mut self.segments.list[content..], role.trim);
            }
            self.atoms(&role.end, Part { element: Element::RoleEnd, ..part });
            return Flow::Continue;
        }
        let is_answer = prompt.is_some_and(ContentRef::opens_with_ids);
        let begin = role.generation_prompt.as_deref().filter(|_| is_answer).unwrap_or(&role.begin);
        let answer = Answer::new(role, spoken, &self.last);
        match own_begin {
            Some(_) => self.replaceable(own_begin, begin, Part { element: Element::RoleBegin, ..part }),
            None => answer.write_begin(begin, role.trim, part, self.segments),
        }
        let turn = self.segments.list.len();
        if !self.waiting.is_empty() {
            self.others_merged_into(index, spoken);
        }
        match prompt {
            Some(said) => answer.write_content(said, role.trim.of_content(), part, self.segments),
            None => self.atoms(&role.prompt, Part { element: Element::DefaultPrompt, ..part }),
        }
        if role.trim == Trim::Turn {
            trim(&mut self.segments.list[turn..], Trim::Turn);
        }
        self.replaceable(spoken.and_then(|spoken| spoken.end), &role.end, Part { element: Element::RoleEnd, ..part });
        Flow::Continue
    }

    /// Whether a turn writes nothing because its content is empty.
    #[inline]
    pub(super) fn omits(&self, role: usize, spoken: Option<Spoken<'a>>) -> bool {
        self.renderer.template.roles[role].omits(spoken.and_then(|spoken| spoken.prompt))
            && !self.waiting.waits_for(role, self.is_last_turn(role, spoken))
    }

    /// Whether it is the last turn of its role.
    fn is_last_turn(&self, role: usize, spoken: Option<Spoken<'_>>) -> bool {
        spoken.is_some_and(|spoken| self.last.is_last_of(role, spoken.index))
    }

    /// The messages that waited for this turn are written in it.
    fn others_merged_into(&mut self, role: usize, spoken: Option<Spoken<'a>>) {
        for Waiting { role, spoken, part, .. } in self.waiting.take(role, self.is_last_turn(role, spoken)) {
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
