//! Where a piece of a prompt comes from.

use serde::{Deserialize, Serialize};

use crate::conversation::Section;

/// Where a segment of a prompt, and each of its tokens, comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Part {
    /// Which element of the template, or content.
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
    /// The position of the part in the message's content, if that consists of parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_part: Option<u32>,
}

/// The part of a template that a segment is, or content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Element {
    /// Content of a message, or a string of the conversation.
    #[default]
    Content,
    /// An image, audio or video of the conversation. A renderer writes an empty text with the positions of the message
    /// and the part, and the model's placeholder replaces it.
    Media,
    /// `begin` of the meta template.
    Begin,
    /// `end` of the meta template.
    End,
    /// `begin` of a role, or its `last_begin`.
    RoleBegin,
    /// `end` of a role.
    RoleEnd,
    /// `prompt` of a role, if the conversation has no content for it.
    DefaultPrompt,
    /// The end of a prompt to be continued.
    GenerationPrompt,
    /// A string in the round.
    RoundText,
    /// `between` of the meta template.
    Between,
    /// The separator of messages if there is no meta template.
    Separator,
    /// Added by the tokenizer itself.
    SpecialToken,
}

impl Part {
    /// With this element, and nothing else known.
    pub fn new(element: Element) -> Self {
        Self { element, ..Self::default() }
    }

    /// With the role at this index of [`Renderer::role_names`](crate::render::Renderer::role_names).
    #[must_use]
    pub fn role(self, role: u32) -> Self {
        Self { role: Some(role), ..self }
    }

    /// With the message, or string, at this position in its conversation.
    #[must_use]
    pub fn message(self, message: u32) -> Self {
        Self { message: Some(message), ..self }
    }

    /// Whether it comes from the conversation, and not from the template.
    pub fn is_content(&self) -> bool {
        self.element == Element::Content
    }
}
