//! Where a piece of a prompt comes from.

use serde::{Deserialize, Serialize};

use crate::conversation::Section;

/// Where a segment of a prompt, and each of its tokens, comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Part {
    /// What of the template, or content.
    pub element: Element,
    /// The section of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Section>,
    /// The template's role, as an index into [`Renderer::role_names`](crate::render::Renderer::role_names).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<u32>,
    /// The position of the message or string in its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// The number of the in-context example, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<u32>,
    /// The position of the part in the message's content, where that is made of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_part: Option<u32>,
}

/// The part of a template that a segment is, or content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Element {
    /// Said by a message, or a string of the conversation.
    #[default]
    Content,
    /// What stands for an image, audio or video of the conversation. A renderer writes an empty text with
    /// the message's and the part's position, and the model's placeholder takes its place.
    Media,
    /// `begin` of the meta template.
    Begin,
    /// `end` of the meta template.
    End,
    /// `begin` of a role.
    RoleBegin,
    /// `end` of a role.
    RoleEnd,
    /// `prompt` of a role, where the conversation has nothing.
    DefaultPrompt,
    /// What a prompt to be continued ends with.
    GenerationPrompt,
    /// A string in the round.
    RoundText,
    /// What stands between messages where there is no meta template.
    Separator,
    /// Added by the tokenizer itself.
    SpecialToken,
}

impl Part {
    /// Of this element, and nothing else is known.
    pub fn new(element: Element) -> Self {
        Self { element, ..Self::default() }
    }

    /// Of the role at this place in [`Renderer::role_names`](crate::render::Renderer::role_names).
    #[must_use]
    pub fn role(self, role: u32) -> Self {
        Self { role: Some(role), ..self }
    }

    /// Of the message, or string, at this position in its conversation.
    #[must_use]
    pub fn message(self, message: u32) -> Self {
        Self { message: Some(message), ..self }
    }

    /// Whether it comes from the conversation and not from the template.
    pub fn is_content(&self) -> bool {
        self.element == Element::Content
    }
}
