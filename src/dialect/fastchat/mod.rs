//! FastChat's and UltraFeedback's conversation templates: a separate dialect.

mod builtin;
mod convert;
mod compiled;
mod filter;
mod layout;
mod render;
mod said;
mod style;
mod template;
mod write;

use crate::compile::Atom;
use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::dialect::Model;
use crate::dialect::syntax::Syntax;
use crate::error::Result;
use crate::render::{Renderer as _, Segment, Segments, TextArena};
pub use render::ConversationRenderer;
pub use style::SeparatorStyle;
pub use template::{ConversationTemplate, StopStrings, SystemPrompt};

/// Reads files that have a `sep_style`.
pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    let has_style = match syntax {
        Syntax::Json => {
            serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.get("sep_style").is_some())
        }
        Syntax::Toml => toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("sep_style")),
    };
    let template = has_style.then(|| syntax.read(text))?;
    Some(template.map(|template| Model { conversation_template: Some(template), ..Model::default() }))
}

impl ConversationTemplate {
    /// The prompt as text, with the messages unchanged: FastChat's `get_prompt`. An empty message is an open turn.
    ///
    /// # Errors
    /// Names the message that the template has no place for, or a separator that it lacks.
    pub fn get_prompt(&self, messages: &[ChatMessage]) -> Result<String> {
        let renderer = ConversationRenderer::of_text(self)?;
        let conversation = Conversation::Messages(messages.to_vec());
        let arena = TextArena::default();
        let mut segments = Segments::new(&arena);
        renderer.render(&conversation, Mode::Score, &mut segments)?;
        let text = |segment: &Segment<'_>| match segment.atom {
            Atom::Text(text) => text.to_owned(),
            Atom::Token(_) => String::new(),
        };
        Ok(segments.as_slice().iter().map(text).collect())
    }
}
