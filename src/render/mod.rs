//! A conversation and a template become segments, in the prompt's order.
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

mod answer;
mod api;
mod api_prompt;
mod api_roles;
mod api_turns;
mod by_message;
mod chat_wrapper;
mod each_message;
mod final_message;
mod last_messages;
mod messages;
mod meta;
mod omissions;
mod part;
mod plain;
mod renderer;
mod sections;
mod segments;
mod spoken;
mod text_arena;
mod trim;
mod turn;
mod waiting;

pub use api::ApiTemplate;
pub use api_prompt::{ApiPrompt, ApiTurn};
pub use api_roles::{ApiRoles, Opening};
pub use by_message::{ByMessage, MessageEnd, Progress};
pub use chat_wrapper::ChatWrapper;
pub use each_message::EachMessage;
pub(crate) use final_message::is_answer;
pub use meta::MetaRenderer;
pub use omissions::Omissions;
pub use part::{Element, Part};
pub use plain::Plain;
pub use renderer::Renderer;
pub(crate) use renderer::{nothing_to_continue, nothing_to_score};
pub(crate) use segments::prefetch;
pub use segments::{Segment, Segments};
pub use text_arena::TextArena;

/// What a renderer did about the control tokens in its template's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TemplateCut {
    /// Nothing: the text is cut at them before it is encoded.
    #[default]
    Uncut,
    /// Each text was cut separately; two adjacent texts may spell a token that neither contains alone.
    CutApart,
    /// All were found, even across adjacent texts.
    Cut,
}

impl TemplateCut {
    /// For a compiled template, whose texts are cut one by one.
    pub(crate) fn compiled(has_open_seams: bool) -> Self {
        if has_open_seams { Self::CutApart } else { Self::Cut }
    }
}
