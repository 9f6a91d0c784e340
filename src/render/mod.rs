//! A conversation and a template become segments, in the order in which the prompt has them.
//!
//! ```
//! use metatok::render::{Plain, Renderer, Segments, TextArena};
//! use metatok::{ChatMessage, Conversation, Mode};
//!
//! let chat = Conversation::Messages(vec![ChatMessage::new("user", "1+1=?"), ChatMessage::new("user", "2+2=?")]);
//! let arena = TextArena::default();
//! let mut segments = Segments::new(&arena);
//! Plain.render(&chat, Mode::Generate, &mut segments)?;
//! assert!(segments.as_slice().len() >= 2);
//! # Ok::<(), metatok::Error>(())
//! ```

mod api;
mod api_prompt;
mod chat_wrapper;
mod each_message;
mod final_message;
mod messages;
mod meta;
mod part;
mod plain;
mod sections;
mod segments;
mod text_arena;

use crate::conversation::{Conversation, Mode};
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
pub use part::{Element, Part};
pub use plain::Plain;
pub use segments::{Segment, Segments};
pub use text_arena::TextArena;

/// What a renderer has done about the control tokens in its template's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TemplateCut {
    /// Nothing: the text is cut at them before it is encoded.
    #[default]
    Uncut,
    /// Each text was cut by itself; two of them side by side may spell one that neither holds alone.
    CutApart,
    /// All were found, whatever texts stand side by side.
    Cut,
}

impl TemplateCut {
    /// Of a compiled template, whose texts are cut one by one.
    pub(crate) fn compiled(has_open_seams: bool) -> Self {
        if has_open_seams { Self::CutApart } else { Self::Cut }
    }
}

/// Turns a conversation into segments. A format of one's own implements this, see
/// [`PromptBuilder::with_renderer`](crate::PromptBuilder::with_renderer).
pub trait Renderer: Send + Sync {
    /// Writes the segments of a prompt.
    ///
    /// # Errors
    /// Names the item of the conversation that the template has no place for. [`Error::other`](crate::Error::other) makes
    /// an error of any other.
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()>;

    /// The names that [`Part::role`] refers to.
    fn role_names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether the model itself speaks in OpenAI-style messages of this role. Where the last one is such, it is left out
    /// of a prompt to continue, for the model is to give it.
    fn speaks_for_model(&self, role: &str) -> bool {
        role == "assistant"
    }

    /// Where the format itself says that output ends.
    fn stop(&self) -> StopCriteria {
        StopCriteria::default()
    }

    /// The added tokens that the format writes, which content then may not. Those flagged special it never may.
    fn used_tokens(&self) -> Vec<TokenId> {
        Vec::new()
    }

    /// What was done about the control tokens in the template's text.
    fn template_text(&self) -> TemplateCut {
        TemplateCut::Uncut
    }
}
