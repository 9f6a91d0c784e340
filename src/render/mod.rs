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
mod sections;
mod segments;
mod spoken;
mod text_arena;
mod trim;
mod turn;
mod waiting;

use crate::conversation::{Conversation, Mode};
use crate::error::Result;
use crate::stop::StopCriteria;
use crate::tokenizer::TokenId;
pub use api::ApiTemplate;
pub use api_prompt::{ApiPrompt, ApiTurn};
pub use api_roles::{ApiRoles, Opening};
pub use by_message::{ByMessage, MessageEnd, Progress};
pub use chat_wrapper::ChatWrapper;
pub use each_message::EachMessage;
pub(crate) use each_message::empty_chat;
pub(crate) use final_message::{is_answer, nothing_to_continue, nothing_to_score};
pub use meta::MetaRenderer;
pub use omissions::Omissions;
pub use part::{Element, Part};
pub use plain::Plain;
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

/// Turns a conversation into segments. Implement this for your own format, see
/// [`PromptBuilder::with_renderer`](crate::PromptBuilder::with_renderer).
pub trait Renderer: Send + Sync {
    /// Writes the segments of a prompt.
    ///
    /// # Errors
    /// Names the item of the conversation that the template has no place for, as an
    /// [`ErrorKind::Conversation`](crate::ErrorKind::Conversation). [`Error::other`](crate::Error::other) wraps any other
    /// error.
    fn render<'a>(&'a self, conversation: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()>;

    /// The names that [`Part::role`] refers to.
    fn role_names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether the model itself speaks OpenAI-style messages of this role. If the last message has this role, a prompt
    /// to continue leaves it out, because the model generates it.
    fn speaks_for_model(&self, role: &str) -> bool {
        role == "assistant"
    }

    /// Whether OpenAI-style messages of this role are the system's, so that they stay when the oldest turns are dropped. Those of
    /// `system` and `developer` stay in any case.
    fn speaks_for_system(&self, _role: &str) -> bool {
        false
    }

    /// Whether it writes all keys of messages, such as `tool_calls`, and tools and documents. Otherwise a conversation that
    /// has any is rejected, because they would be lost.
    fn writes_all_keys(&self) -> bool {
        false
    }

    /// Whether it writes contents that are token ids, as an engine gives answers.
    fn writes_ids(&self) -> bool {
        true
    }

    /// Whether a prompt to continue leaves out a last message of the model. Otherwise the message stays, and a further one
    /// is generated.
    fn omits_final_answer(&self) -> bool {
        true
    }

    /// Writes messages up to the end of the last one's content, which the model continues.
    ///
    /// # Errors
    /// The same as for [`Self::render`], and if the last message is not the model's.
    fn render_begun_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        final_message::render_begun_answer(self, conversation, segments)
    }

    /// Writes messages up to where the model speaks, and then the content of the last one, as if the model continued
    /// with it.
    ///
    /// # Errors
    /// The same as for [`Self::render_begun_answer`].
    fn render_scored_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        final_message::render_scored_answer(self, conversation, segments)
    }

    /// Itself, if it writes OpenAI-style messages one after the other, and can go on after those that it wrote before.
    fn by_message(&self) -> Option<&dyn ByMessage> {
        None
    }

    /// What the format leaves out of a conversation because its author declares so, for a note about it.
    fn omissions<'c>(&self, _: &'c Conversation) -> Omissions<'c> {
        Omissions::default()
    }

    /// The stops of the format itself.
    fn stop(&self) -> StopCriteria {
        StopCriteria::default()
    }

    /// The added tokens that the format writes, which content then cannot produce. It can never produce those flagged
    /// special.
    fn used_tokens(&self) -> Vec<TokenId> {
        Vec::new()
    }

    /// What was done about the control tokens in the template's text.
    fn template_cut(&self) -> TemplateCut {
        TemplateCut::Uncut
    }
}
