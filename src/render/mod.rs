//! A conversation and a template become segments, in the order in which the prompt has them.

mod api;
mod api_prompt;
mod chat_wrapper;
mod each_message;
mod final_message;
mod messages;
mod meta;
mod plain;
mod say;
mod sections;

use crate::compile::Atom;
use crate::conversation::{Conversation, Mode, Section};
use crate::error::Result;
use crate::stop::StopCriteria;
use crate::tokenizer::TokenId;
pub use api::{ApiRoles, ApiTemplate, Opening};
pub use api_prompt::{ApiPrompt, ApiTurn};
pub use chat_wrapper::ChatWrapper;
pub use each_message::EachMessage;
pub(crate) use each_message::empty_chat;
pub(crate) use final_message::{is_answer, render_open_answer, render_to_continue};
pub use meta::MetaRenderer;
pub use plain::Plain;
pub(crate) use say::say;

/// A piece of a prompt that has one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// A token, or text.
    pub atom: Atom<&'a str>,
    /// Where it comes from.
    pub part: Part,
}

/// Where a segment of a prompt, and each of its tokens, comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// What of the template, or content.
    pub element: Element,
    /// The section of the conversation.
    pub section: Option<Section>,
    /// The template's role, as an index into [`Renderer::role_names`].
    pub role: Option<u32>,
    /// The position of the message or string in its conversation.
    pub message: Option<u32>,
    /// The number of the in-context example, from 0.
    pub example: Option<u32>,
    /// The position of the part in the message's content, where that is made of parts.
    pub content_part: Option<u32>,
}

/// The part of a template that a segment is, or content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize)]
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
    /// Whether it comes from the conversation and not from the template.
    pub fn is_content(&self) -> bool {
        self.element == Element::Content
    }
}

/// Turns a conversation into segments. A dialect with a format of its own implements this.
pub trait Renderer: Send + Sync {
    /// Appends the segments of a prompt.
    ///
    /// # Errors
    /// Names the item of the conversation that the template has no place for.
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Vec<Segment<'a>>) -> Result<()>;

    /// The names that [`Part::role`] refers to.
    fn role_names(&self) -> Vec<&str>;

    /// Whether the model itself speaks in OpenAI-style messages of this role. Where the last one is such, it is left out
    /// of a prompt to continue, for the model is to give it.
    fn speaks_for_model(&self, role: &str) -> bool {
        role == "assistant"
    }

    /// Where the format itself says that output ends.
    fn stop(&self) -> StopCriteria {
        StopCriteria::default()
    }

    /// The added tokens that the format writes, which content then may not.
    fn used_tokens(&self) -> Vec<TokenId> {
        Vec::new()
    }

    /// Whether two of its texts side by side could spell an added token that neither holds alone.
    fn has_open_seams(&self) -> bool {
        true
    }
}
