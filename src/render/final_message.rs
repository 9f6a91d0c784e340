//! A last message of the model in a prompt to continue: the model generates it.

use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::render::Renderer;

/// Whether a conversation ends with an answer, which a prompt to continue leaves out.
pub(crate) fn is_answer(renderer: &dyn Renderer, conversation: &Conversation) -> bool {
    let Conversation::Messages(messages) = conversation else { return false };
    messages.last().is_some_and(|last| renderer.speaks_for_model(&last.role))
}

/// Messages without an answer at their end, if the model generates it.
pub(super) fn without_answer<'m>(
    renderer: &impl Renderer,
    messages: &'m [ChatMessage],
    mode: Mode,
) -> &'m [ChatMessage] {
    match messages.split_last() {
        Some((last, before)) if mode == Mode::Generate && renderer.speaks_for_model(&last.role) => before,
        _ => messages,
    }
}
