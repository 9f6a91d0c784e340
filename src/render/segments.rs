//! The output of a renderer: the segments of a prompt in order, with memory for text that it creates itself.

use std::fmt;

use prefetch_index::prefetch_index;

use crate::compile::Atom;
use crate::conversation::{Content, ContentPart, ContentRef, TextPart};
use crate::render::text_arena::ArenaEnd;
use crate::render::{Element, Part, TextArena};
use crate::tokenizer::TokenId;

/// A piece of a prompt with one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// A token, or text.
    pub atom: Atom<&'a str>,
    /// Where it comes from.
    pub part: Part,
}

/// The number of bytes of a content that are asked for before it is read, in lines of the processor's cache. What
/// follows, the processor asks for itself.
const AHEAD: usize = 1024;
const LINE: usize = 64;

/// The segments of a prompt that is being rendered.
///
/// Text is borrowed: from the renderer, from the conversation, or, if a renderer creates it, from the [`TextArena`].
///
/// ```
/// use metatok::render::{Segments, TextArena};
///
/// let arena = TextArena::default();
/// let mut segments = Segments::new(&arena);
/// let heading = segments.owned(format!("Question {}: ", 1 + 1));
/// segments.template(heading);
/// segments.content("What is red?", 0);
/// assert_eq!(segments.as_slice().len(), 2);
/// assert!(segments.as_slice()[1].part.is_content());
/// ```
pub struct Segments<'a> {
    pub(crate) list: Vec<Segment<'a>>,
    end: ArenaEnd<'a>,
    /// Whether anybody asks where tokens come from. Otherwise a renderer may write content that can produce no reserved
    /// token as text of its template.
    pub(crate) needs_origins: bool,
}

impl<'a> Segments<'a> {
    /// No segments yet. Texts that are created while rendering are kept in the arena.
    pub fn new(arena: &'a TextArena) -> Self {
        Self::with_memory(Vec::new(), arena)
    }

    /// No segments yet, in the memory of `list`.
    pub(crate) fn with_memory(list: Vec<Segment<'a>>, arena: &'a TextArena) -> Self {
        Self { list, end: arena.end(), needs_origins: true }
    }

    /// Keeps a text that was created while rendering, so that segments can borrow it. It is not part of the prompt
    /// until it is written as a segment.
    pub fn owned(&mut self, text: impl Into<String>) -> &'a str {
        self.end.keep(text.into())
    }

    /// Writes text of the template. Control tokens in it are recognized.
    pub fn template(&mut self, text: &'a str) {
        self.push(Atom::Text(text), Part::new(Element::RoundText));
    }

    /// Writes tokens of the template, which must be in the vocabulary.
    pub fn ids(&mut self, ids: &[TokenId]) {
        let part = Part::new(Element::RoundText);
        self.list.extend(ids.iter().map(|&id| Segment { atom: Atom::Token(id), part }));
    }

    /// Writes text of the message, or string, at this position of the conversation. It cannot produce control tokens.
    pub fn content(&mut self, text: &'a str, message: u32) {
        self.push(Atom::Text(text), Part::new(Element::Content).message(message));
    }

    /// Writes the whole content of a message: its text, the model's placeholders for its images, audio and video, and
    /// the ids of earlier answers.
    pub fn message(&mut self, content: &'a Content, message: u32) {
        self.content_ref(content.content_ref(), Part::new(Element::Content).message(message));
    }

    /// Writes a token or text with any origin.
    pub fn push(&mut self, atom: Atom<&'a str>, part: Part) {
        self.list.push(Segment { atom, part });
    }

    /// The segments written so far.
    pub fn as_slice(&self) -> &[Segment<'a>] {
        &self.list
    }

    /// The segments, with ownership of their memory.
    pub fn into_vec(self) -> Vec<Segment<'a>> {
        self.list
    }

    /// Takes all of them back.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// Writes text with this origin.
    pub(crate) fn text(&mut self, text: &'a str, part: Part) {
        self.push(Atom::Text(text), part);
    }

    /// Writes compiled pieces.
    pub(crate) fn atoms(&mut self, atoms: &'a [Atom], part: Part) {
        self.list.extend(atoms.iter().map(|atom| Segment { atom: atom.borrowed(), part }));
    }

    /// Writes a content. An empty text separates the template's texts like any other content: they do not spell a token
    /// together. An image, audio or video is an empty text with [`Element::Media`], which the model's placeholder
    /// replaces later.
    pub(crate) fn content_ref(&mut self, said: ContentRef<'a>, part: Part) {
        let parts = match said {
            ContentRef::Text(text) => {
                // Until it is read, more segments are written.
                prefetch(text);
                return self.text(text, part);
            }
            ContentRef::Parts(parts) => parts,
        };
        for (i, said) in parts.iter().enumerate() {
            let part = Part { content_part: Some(i as u32), ..part };
            match said {
                ContentPart::Text(TextPart { text, .. }) => self.text(text, part),
                // One that nobody here knows is refused where media are filled in.
                ContentPart::Media(_) | ContentPart::Other(_) => {
                    self.text("", Part { element: Element::Media, ..part });
                }
                ContentPart::Ids(ids) => {
                    self.list.extend(ids.iter().map(|&id| Segment { atom: Atom::Token(id), part }));
                }
            }
        }
    }
}

/// Asks for the memory of a content, which may be in no cache.
#[inline]
pub(crate) fn prefetch(text: &str) {
    for line in (0..text.len().min(AHEAD)).step_by(LINE) {
        prefetch_index(text.as_bytes(), line);
    }
}

impl fmt::Debug for Segments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.list).finish()
    }
}
