//! An answer's thoughts: left out, kept, or written between the template's own tags.

use crate::compile::{Atom, CompiledRole, LastBegin, Thoughts};
use crate::conversation::ContentRef;
use crate::render::last_messages::LastMessages;
use crate::render::spoken::Spoken;
use crate::render::trim::trim;
use crate::render::{Element, Part, Segment, Segments};
use crate::template::Trim;

/// How a message of a role that thinks is written.
#[derive(Default)]
pub(super) struct Answer<'a> {
    /// In place of the role's `begin`.
    begin: Option<&'a [Atom]>,
    /// Written after that: thoughts, and what closes them.
    thoughts: Option<(&'a str, &'a [Atom])>,
    /// Whose tags end what is left out of the content.
    left_out: Option<&'a Thoughts>,
}

impl<'a> Answer<'a> {
    /// A message of a role. One that begins with ids is written as the model gave it.
    pub(super) fn new(role: &'a CompiledRole, spoken: Option<Spoken<'a>>, last: &LastMessages) -> Self {
        let (Some(thoughts), Some(spoken)) = (&role.thoughts, spoken) else { return Self::default() };
        let Some(said) = spoken.prompt.filter(|said| !said.opens_with_ids()) else { return Self::default() };
        let text = said.only_text().unwrap_or_default();
        if !last.is_after_user(spoken.index) {
            return Self { left_out: Some(thoughts), ..Self::default() };
        }
        let last_begin = thoughts.last_begin.as_ref().filter(|_| spoken.begin.is_none());
        match last_begin {
            Some(LastBegin { open, close: Some(close) }) if last.is_last(spoken.index) || thoughts.are_in(text) => {
                Self { begin: Some(open), thoughts: Some((thoughts.of(text), close)), left_out: Some(thoughts) }
            }
            Some(LastBegin { open, close: None }) if last.is_last(spoken.index) => {
                Self { begin: Some(open), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// Writes what comes before the content, where `begin` is the role's.
    pub(super) fn write_begin(&self, begin: &'a [Atom], by: Trim, part: Part, segments: &mut Segments<'a>) {
        segments.atoms(self.begin.unwrap_or(begin), Part { element: Element::RoleBegin, ..part });
        if let Some((thoughts, close)) = self.thoughts {
            let from = segments.list.len();
            segments.text(thoughts, Part { element: Element::Content, ..part });
            trim(&mut segments.list[from..], by);
            segments.atoms(close, Part { element: Element::RoleBegin, ..part });
        }
    }

    /// Writes the content.
    pub(super) fn write_content(&self, said: ContentRef<'a>, by: Trim, part: Part, segments: &mut Segments<'a>) {
        let from = segments.list.len();
        segments.content_ref(said, Part { element: Element::Content, ..part });
        if let Some(thoughts) = self.left_out {
            self.leave_out(thoughts, &mut segments.list[from..]);
        }
        if by != Trim::None {
            trim(&mut segments.list[from..], by);
        }
    }

    /// Leaves the thoughts out of a content that is one text.
    fn leave_out(&self, thoughts: &Thoughts, content: &mut [Segment<'_>]) {
        let [Segment { atom: Atom::Text(text), part }] = content else { return };
        if part.element == Element::Content {
            *text = thoughts.without(text);
            if self.thoughts.is_some() {
                *text = text.trim_start_matches('\n');
            }
        }
    }
}
