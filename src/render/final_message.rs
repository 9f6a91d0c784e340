//! A last message of the assistant: the model generates it, continues it, or is scored on it.

use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::error::{Error, ErrorKind, Result, Setting, way_out};
use crate::render::{Element, Part, Renderer, Segment, Segments};

/// Whether a conversation ends with an answer, which a prompt to continue leaves out.
pub(crate) fn is_answer(renderer: &(impl Renderer + ?Sized), conversation: &Conversation) -> bool {
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

/// Renders messages up to the end of the last one's content.
///
/// # Errors
/// [`ErrorKind::Conversation`] if the last message is not the assistant's, or if the conversation is not messages.
pub(super) fn render_begun_answer<'a>(
    renderer: &'a (impl Renderer + ?Sized),
    conversation: &'a Conversation,
    segments: &mut Segments<'a>,
) -> Result<()> {
    let Conversation::Messages(messages) = conversation else {
        let what = "continue_final_message is for messages: a string is always continued, and a prompt list ends where the model speaks";
        return Err(ErrorKind::Conversation(what.into()).into());
    };
    if !is_answer(renderer, conversation) {
        return Err(nothing_to_continue());
    }
    let last = messages.len() - 1;
    renderer.render(conversation, Mode::Score, segments)?;
    let is_said =
        |segment: &Segment<'_>| segment.part.message == Some(last as u32) && segment.part.element != Element::RoleEnd;
    if let Some(last) = segments.list.iter().rposition(is_said) {
        segments.list.truncate(last + 1);
        return Ok(());
    }
    // Of an empty answer, the template may write nothing.
    segments.list.clear();
    renderer.render(conversation, Mode::Generate, segments)
}

/// Renders messages up to where the model speaks, and then the content of the last one, as if the model continued with it.
///
/// # Errors
/// The same as for [`render_begun_answer`].
pub(super) fn render_scored_answer<'a>(
    renderer: &'a (impl Renderer + ?Sized),
    conversation: &'a Conversation,
    segments: &mut Segments<'a>,
) -> Result<()> {
    let answer = match conversation {
        Conversation::Messages(messages) if is_answer(renderer, conversation) => {
            messages.iter().enumerate().next_back()
        }
        _ => None,
    };
    let Some((last, answer)) = answer else {
        return Err(nothing_to_score());
    };
    renderer.render(conversation, Mode::Generate, segments)?;
    let part = segments.list.last().map(|segment| segment.part).unwrap_or_default();
    let part = Part { element: Element::Content, message: Some(last as u32), ..part };
    segments.content_ref(answer.content.content_ref(), part);
    Ok(())
}

pub(crate) fn nothing_to_continue() -> Error {
    let what = "the last message is not the assistant's, so there is no answer to continue";
    ErrorKind::Conversation(what.into()).with_way_out(way_out!["remove ", Setting::CONTINUE_FINAL_MESSAGE])
}

pub(crate) fn nothing_to_score() -> Error {
    let what = "the last message is not the assistant's, so there is no answer to score; remove open_answer";
    ErrorKind::Conversation(what.into()).into()
}
