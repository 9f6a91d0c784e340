//! The parts of a conversation, one after the other, in its layout.

use crate::compile::Atom;
use crate::dialect::fastchat::compiled::{Atoms, CompiledConversation};
use crate::dialect::fastchat::filter;
use crate::dialect::fastchat::layout::{First, Labels, Piece};
use crate::dialect::fastchat::style::SeparatorStyle;
use crate::dialect::fastchat::template::SystemPiece;
use crate::error::{Error, ErrorKind, Result};
use crate::render::{Element, Part, Segment, Segments};
use crate::tokenizer::TokenId;

/// The system's index among the names of roles.
const SYSTEM: u32 = 2;

/// A message to write.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) label: Label<'a>,
    pub(super) content: Content<'a>,
    pub(super) images: usize,
    pub(super) message: Option<usize>,
}

#[derive(Clone, Copy)]
pub(super) enum Label<'a> {
    Role(usize),
    Literal(&'a str),
    Preset(&'a [Atom]),
}

#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    Open,
    Text(&'a str),
    Ids(&'a [TokenId]),
    Preset(&'a [Atom]),
}

/// Appends segments, the parts of a prompt in order.
pub(super) struct Writer<'a, 's> {
    pub(super) template: &'a CompiledConversation,
    pub(super) segments: &'s mut Segments<'a>,
    /// The system message of the conversation, and its position there.
    pub(super) system: Option<(&'a str, usize)>,
}

impl<'a> Writer<'a, '_> {
    pub(super) fn opening(&mut self) -> Result<()> {
        let layout = &self.template.layout;
        let part = Part { element: Element::Begin, ..Part::default() };
        self.atoms(&layout.opening, part);
        let has_message = self.system.map_or(self.template.has_system_message, |(text, _)| !text.is_empty());
        let has_place = self.template.system.contains(&SystemPiece::Message);
        if layout.system.is_written(has_message, self.template.has_text_around || (has_place && has_message)) {
            self.system();
            self.piece(&layout.after_system, Part { element: Element::Separator, ..Part::default() })?;
        } else {
            self.atoms(&layout.without_system, part);
        }
        Ok(())
    }

    fn system(&mut self) {
        let template = self.template;
        let part = Part { role: Some(SYSTEM), ..Part::default() };
        for piece in &template.system {
            match (piece, self.system) {
                (SystemPiece::Text(text), _) => self.atoms(text, Part { element: Element::RoleBegin, ..part }),
                (SystemPiece::Message, Some((text, index))) => {
                    self.text(text, Part { message: Some(index as u32), ..part });
                }
                (SystemPiece::Message, None) => {
                    self.atoms(&template.system_message, Part { element: Element::DefaultPrompt, ..part });
                }
            }
        }
    }

    pub(super) fn turn(&mut self, turn: Turn<'a>, index: usize, is_prompt_end: bool) -> Result<()> {
        let template = self.template;
        let layout = &template.layout;
        let place = index % 2;
        let role = match turn.label {
            Label::Role(role) => Some(role as u32),
            Label::Literal(_) | Label::Preset(_) => None,
        };
        let part = Part { role, message: turn.message.map(|message| message as u32), ..Part::default() };
        let is_open = matches!(turn.content, Content::Open);
        // An answer in ids comes where the model gave it: after the open turn.
        let was_open = is_open || matches!(turn.content, Content::Ids(_));
        let element = if is_prompt_end { Element::GenerationPrompt } else { Element::RoleBegin };
        let header = Part { element, ..part };
        let is_bare = index == 0 && !is_open && layout.first != First::Ordinary;
        if is_bare {
            if layout.first == First::AfterSystem {
                self.system();
            }
        } else {
            if let Some(first) = layout.first_round.filter(|_| place == 0) {
                self.round_number(first + index / 2, header);
            }
            self.piece(&layout.before[place], header)?;
            match (layout.label, turn.label) {
                (Labels::None, _) => {}
                (Labels::OfPlace, _) => self.atoms(&template.roles[place], header),
                (Labels::Own, Label::Role(role)) => self.atoms(&template.roles[role], header),
                (Labels::Own, Label::Preset(label)) => self.atoms(label, header),
                // Not the template's: it is data.
                (Labels::Own, Label::Literal(label)) => self.text(label, part),
            }
            self.piece(if was_open { &layout.open[place] } else { &layout.colon[place] }, header)?;
        }
        for image in 0..turn.images {
            let part = Part { element: Element::Media, content_part: Some(image as u32), ..part };
            self.atoms(layout.image.as_deref().unwrap_or_default(), part);
        }
        match turn.content {
            Content::Open => return Ok(()),
            Content::Text(text) => {
                for text in filter::pieces(text, layout.filter) {
                    self.text(text, part);
                }
            }
            Content::Ids(ids) => {
                self.segments.list.extend(ids.iter().map(|&id| Segment { atom: Atom::Token(id), part }));
            }
            Content::Preset(content) => self.atoms(content, Part { element: Element::DefaultPrompt, ..part }),
        }
        let end = Part { element: Element::RoleEnd, ..part };
        match &layout.first {
            First::Bare(after) if is_bare => self.atoms(after, end),
            First::AfterSystem if is_bare => {}
            _ => self.piece(&layout.end[place], end)?,
        }
        Ok(())
    }

    /// `[Round k`; the rest is in the layout.
    fn round_number(&mut self, number: usize, part: Part) {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        self.text("[Round ", part);
        let mut power = 10_usize.pow(number.checked_ilog10().unwrap_or(0));
        while power > 0 {
            self.text(DIGITS[number / power % 10], part);
            power /= 10;
        }
    }

    /// Trims what the style trims, and writes what comes at the end.
    pub(super) fn finish(&mut self) -> Result<()> {
        let template = self.template;
        let Some(finish) = &template.layout.finish else { return Ok(()) };
        let trimmed = |text: &'a str| text.trim_end_matches(['<', 'n', '>']);
        while let Some(Segment { atom, .. }) = self.segments.list.last_mut() {
            let text = match *atom {
                Atom::Text(text) => text,
                Atom::Token(id) => match template.token_texts.iter().find(|(known, _)| *known == id) {
                    Some((_, text)) => text.as_str(),
                    // For an answer that was given as ids.
                    None => break,
                },
            };
            match trimmed(text) {
                kept if kept.len() == text.len() && !text.is_empty() => break,
                "" => drop(self.segments.list.pop()),
                kept => {
                    *atom = Atom::Text(kept);
                    break;
                }
            }
        }
        self.piece(finish, Part { element: Element::End, ..Part::default() })
    }

    fn piece(&mut self, piece: &'a Piece<Atoms>, part: Part) -> Result<()> {
        match piece {
            Ok(atoms) => {
                self.atoms(atoms, part);
                Ok(())
            }
            Err(missing) => Err(Error::from(ErrorKind::Template(format!(
                "the style {:?} needs {missing}, but the template has none",
                serde_name(self.template.style)
            )))),
        }
    }

    fn text(&mut self, text: &'a str, part: Part) {
        if !text.is_empty() {
            self.segments.text(text, part);
        }
    }

    fn atoms(&mut self, atoms: &'a [Atom], part: Part) {
        self.segments.atoms(atoms, part);
    }
}

/// A style's name as in files.
pub(super) fn serde_name(style: SeparatorStyle) -> String {
    serde_json::to_value(style).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
