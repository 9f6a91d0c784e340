//! The rows of a view: tokens of one origin, and who said them.

use std::ops::Range;

use serde::Serialize;

use crate::assemble::Span;
use crate::conversation::{Conversation, Media, MediaKind, Section, openai_role};
use crate::error::counted;
use crate::render::{Element, Part};
use crate::tokenizer::drawn;
use crate::view::short_name::short_name;

/// Adjacent tokens with one origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewRow {
    /// The tokens, by their positions.
    pub tokens: Range<usize>,
    /// Which element of the template, or content.
    pub element: Element,
    /// The section of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Section>,
    /// The template's name for the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The role's name in OpenAI-style messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_role: Option<String>,
    /// The position of the message in its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// The number of the in-context example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<u32>,
    /// The image, audio or video that the tokens stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<ViewMedia>,
}

/// An image, audio or video of a [`View`](crate::View).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ViewMedia {
    /// Its kind.
    pub kind: MediaKind,
    /// Its source, shortened: see [`crate::conversation::Media::short_source`]. For a path from the root, or out of the
    /// folder, its last two components.
    pub source: String,
}

impl ViewMedia {
    fn new(media: &Media) -> Self {
        let name = media.path().map(|path| match path.len() == media.source.len() {
            true => short_name(path),
            // The path of a URL begins at the root.
            false => short_name(&format!("/{path}")),
        });
        let named = name.map(|name| Media::new(media.kind, name).short_source());
        Self { kind: media.kind, source: named.unwrap_or_else(|| media.short_source()) }
    }
}

impl ViewRow {
    pub(super) fn new(span: &Span, roles: &[&str], conversation: &Conversation) -> Self {
        let Part { element, section, role, message, example, content_part } = span.part;
        let media = message.zip(content_part).filter(|_| element == Element::Media);
        let media = media.and_then(|(message, part)| conversation.media_at(message as usize, part as usize));
        let role = role.and_then(|role| roles.get(role as usize)).map(|role| (*role).to_owned());
        let message_role = message_role(conversation, message, role.as_deref());
        Self {
            tokens: span.start..span.end,
            element,
            section,
            role,
            message_role,
            message,
            example,
            media: media.map(ViewMedia::new),
        }
    }

    /// A label for the row: the template's key, or "content".
    pub fn label(&self) -> &'static str {
        match self.element {
            Element::Content => "content",
            Element::Media => self.media.as_ref().map_or("media", |media| media.kind.name()),
            Element::Begin | Element::RoleBegin => "begin",
            Element::End | Element::RoleEnd => "end",
            Element::DefaultPrompt => "prompt",
            Element::GenerationPrompt => "opens",
            Element::RoundText => "text",
            Element::Separator | Element::Between => "between",
            Element::SpecialToken => "added",
        }
    }

    /// The speaker: a role and its message's number, the template, or the tokenizer.
    pub(super) fn speaker(&self) -> String {
        let role = self.message_role.as_ref().or(self.role.as_ref()).map(|role| drawn(role));
        match (role, self.message, self.element) {
            (Some(role), Some(message), _) => format!("{role} #{message}"),
            (Some(role), None, _) => role,
            (None, Some(message), _) => format!("#{message}"),
            (None, None, Element::SpecialToken) => "tokenizer".into(),
            (None, None, _) => "template".into(),
        }
    }

    /// The text shown instead of the tokens of an image, audio or video: its source, and how many there are.
    pub(super) fn chip(&self) -> Option<String> {
        let tokens = self.tokens.len();
        let media = self.media.as_ref()?;
        Some(format!("{} {} · {}", media.kind.name(), drawn(&media.source), counted(tokens, "token")))
    }

    /// The section, and the number of the example.
    pub(super) fn place(&self) -> String {
        match (self.section, self.example) {
            (Some(section), Some(example)) => format!("{} {example}", section.name()),
            (Some(section), None) => section.name().into(),
            (None, _) => String::new(),
        }
    }

    /// More about the speaker: the template's name for the role, and the section.
    pub(super) fn about_speaker(&self) -> String {
        let role = self
            .role
            .as_ref()
            .filter(|_| self.message_role.is_some())
            .filter(|role| self.message_role.as_ref() != Some(role))
            .map(|role| drawn(role));
        let place = Some(self.place()).filter(|place| !place.is_empty());
        role.into_iter().chain(place).collect::<Vec<_>>().join(" · ")
    }

    /// The origin of this row's tokens, in words.
    pub(super) fn source(&self) -> String {
        let place = self.place();
        let place = if place.is_empty() { place } else { format!("{place}, ") };
        format!("{place}{} {}", self.speaker(), self.label())
    }
}

/// The name of a role in OpenAI-style messages: the message's own, or the usual one.
fn message_role(conversation: &Conversation, message: Option<u32>, role: Option<&str>) -> Option<String> {
    let messages = conversation.messages()?;
    let said = message.and_then(|message| messages.get(message as usize)).map(|message| message.role.to_string());
    said.or_else(|| openai_role(role?).map(str::to_owned))
}
