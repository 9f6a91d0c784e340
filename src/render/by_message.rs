//! Renderers that write one message after the other: what a prompt begins with as the one before did is not rendered again.

use crate::conversation::{ChatMessage, Mode};
use crate::error::Result;
use crate::render::segments::Segments;

/// How far messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of messages that are written.
    pub messages: usize,
    /// What the renderer needs to know of them, in its own terms; 0 before the first one.
    pub state: u64,
}

/// Where a message ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEnd {
    /// How many segments there are by then.
    pub segments: usize,
    /// How far the messages are written.
    pub progress: Progress,
}

/// A renderer that writes message after message, so that prompts with the same examples, or a chat that goes on, take less
/// time: from [`Renderer::by_message`](crate::render::Renderer::by_message).
///
/// What it writes of a message depends on the [`Mode`] and the messages up to that one, by their roles and contents alone, and
/// if [`Self::roles_matter`], on the roles of all. Prompts take less time only if it writes control tokens as ids, see
/// [`TemplateCut::Cut`](crate::render::TemplateCut::Cut).
///
/// ```
/// use metatok::render::{ByMessage, MessageEnd, Progress, Renderer, Segments, TemplateCut};
/// use metatok::{BuilderOptions, ChatMessage, Conversation, ErrorKind, Mode, Model, PromptBuilder, Result, Tokenizer};
///
/// /// Ends each message with a control token.
/// struct Lines;
///
/// impl ByMessage for Lines {
///     fn rendered_messages<'m>(&self, messages: &'m [ChatMessage], _: Mode) -> &'m [ChatMessage] {
///         messages
///     }
///
///     fn render_from<'a>(
///         &'a self,
///         messages: &'a [ChatMessage],
///         _: Mode,
///         before: Progress,
///         segments: &mut Segments<'a>,
///         ends: &mut Vec<MessageEnd>,
///     ) -> Result<()> {
///         for (i, message) in messages.iter().enumerate().skip(before.messages) {
///             segments.message(&message.content, i as u32);
///             segments.ids(&[1052]);
///             let progress = Progress { messages: i + 1, state: 0 };
///             ends.push(MessageEnd { segments: segments.as_slice().len(), progress });
///         }
///         Ok(())
///     }
/// }
///
/// impl Renderer for Lines {
///     fn render<'a>(&'a self, said: &'a Conversation, mode: Mode, segments: &mut Segments<'a>) -> Result<()> {
///         let Conversation::Messages(messages) = said else {
///             return Err(ErrorKind::Conversation("only messages".into()).into());
///         };
///         self.render_from(messages, mode, Progress::default(), segments, &mut Vec::new())
///     }
///
///     fn by_message(&self) -> Option<&dyn ByMessage> {
///         Some(self)
///     }
///
///     fn template_cut(&self) -> TemplateCut {
///         TemplateCut::Cut
///     }
/// }
///
/// let (model, options) = (Model::default(), BuilderOptions::default());
/// let builder = PromptBuilder::with_renderer(Box::new(Lines), &model, Tokenizer::demo()?.into(), &options)?;
/// let mut session = builder.session();
/// for question in ["Which planet is red?", "What is the Sun?", "What is the Moon?", "And the Earth?"] {
///     let messages = [("system", "Be brief."), ("user", question)];
///     assert_eq!(session.build_messages(&messages)?, builder.build_messages(&messages)?);
/// }
/// # Ok::<(), metatok::Error>(())
/// ```
pub trait ByMessage {
    /// The messages that are written. The others, an answer that the model generates, change nothing.
    fn rendered_messages<'m>(&self, messages: &'m [ChatMessage], mode: Mode) -> &'m [ChatMessage];

    /// Whether what is written of a message depends on the roles of later ones.
    fn roles_matter(&self) -> bool {
        false
    }

    /// Writes the messages of a conversation after those that were written before, and what comes after the last one.
    /// Appends how far it is after each, as long as it can go on from there. What it appends may end early, but leaves none
    /// out.
    ///
    /// # Errors
    /// The same as for [`Renderer::render`](crate::render::Renderer::render).
    fn render_from<'a>(
        &'a self,
        messages: &'a [ChatMessage],
        mode: Mode,
        before: Progress,
        segments: &mut Segments<'a>,
        ends: &mut Vec<MessageEnd>,
    ) -> Result<()>;
}
