//! A last message of the assistant in a prompt to continue: the model is to give it, or goes on with it.

use crate::conversation::{Conversation, Mode};
use crate::error::{ErrorKind, Result};
use crate::render::{Element, Renderer, Segment};

/// Whether a conversation ends with an answer, which a prompt to continue leaves out.
pub(crate) fn is_answer(renderer: &dyn Renderer, conversation: &Conversation) -> bool {
    let Conversation::Messages(messages) = conversation else { return false };
    messages.last().is_some_and(|last| renderer.speaks_for_model(&last.role))
}

/// Renders messages up to the end of what the last one says.
///
/// # Errors
/// [`ErrorKind::Template`] where the last message is not the assistant's, and for what is no messages.
pub(crate) fn render_to_continue<'a>(
    renderer: &'a dyn Renderer,
    conversation: &'a Conversation,
    segments: &mut Vec<Segment<'a>>,
) -> Result<()> {
    let last = match conversation {
        Conversation::Messages(messages) => messages.len().saturating_sub(1),
        Conversation::Text(_) | Conversation::List(_) => {
            let what = "continue_final_message is for messages: a string is continued as it is, and a prompt list ends where the model speaks";
            return Err(ErrorKind::Template(what.into()).into());
        }
    };
    if !is_answer(renderer, conversation) {
        let what = "the last message is not the assistant's, so there is no answer to continue; leave continue_final_message out";
        return Err(ErrorKind::Template(what.into()).into());
    }
    renderer.render(conversation, Mode::Score, segments)?;
    let is_said =
        |segment: &Segment<'_>| segment.part.message == Some(last as u32) && segment.part.element != Element::RoleEnd;
    segments.truncate(segments.iter().rposition(is_said).map_or(0, |end| end + 1));
    Ok(())
}
