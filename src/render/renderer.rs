//! A renderer: what turns conversations into segments.

use crate::conversation::{Conversation, Mode};
use crate::error::{Error, ErrorKind, Result, Setting, way_out};
use crate::render::{ByMessage, Element, Omissions, Part, Segment, Segments, TemplateCut};
use crate::stop::StopCriteria;
use crate::tokenizer::TokenId;

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

    /// Whether messages of a role with this name have a place in it; by default any have. If not, records that call their
    /// roles by the names of training frameworks, such as `human` or `tool_call`, are read with OpenAI's names.
    fn knows_role(&self, _role: &str) -> bool {
        true
    }

    /// Whether the model itself speaks OpenAI-style messages of this role.
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

    /// Whether [`Self::render`] leaves a last message of the model out of a prompt to continue, because the model generates
    /// it. Otherwise the message stays, and a further one is generated.
    fn omits_final_answer(&self) -> bool {
        false
    }

    /// Writes messages up to the end of the last one's content, which the model continues.
    ///
    /// # Errors
    /// The same as for [`Self::render`], and if the last message is not the model's.
    fn render_begun_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        let Conversation::Messages(messages) = conversation else {
            let what = "continue_final_message is for messages: a string is always continued, and a prompt list ends where the model speaks";
            return Err(ErrorKind::Conversation(what.into()).into());
        };
        if !messages.last().is_some_and(|last| self.speaks_for_model(&last.role)) {
            return Err(nothing_to_continue());
        }
        let last = messages.len() - 1;
        self.render(conversation, Mode::Score, segments)?;
        let is_said = |segment: &Segment<'_>| {
            segment.part.message == Some(last as u32) && segment.part.element != Element::RoleEnd
        };
        if let Some(last) = segments.list.iter().rposition(is_said) {
            segments.list.truncate(last + 1);
            return Ok(());
        }
        // Of an empty answer, the template may write nothing.
        segments.list.clear();
        self.render(conversation, Mode::Generate, segments)
    }

    /// Writes messages up to where the model speaks, and then the content of the last one, as if the model continued
    /// with it.
    ///
    /// # Errors
    /// The same as for [`Self::render_begun_answer`].
    fn render_scored_answer<'a>(&'a self, conversation: &'a Conversation, segments: &mut Segments<'a>) -> Result<()> {
        let answer = match conversation {
            Conversation::Messages(messages) => messages.iter().enumerate().next_back(),
            _ => None,
        };
        let Some((last, answer)) = answer.filter(|(_, last)| self.speaks_for_model(&last.role)) else {
            return Err(nothing_to_score());
        };
        self.render(conversation, Mode::Generate, segments)?;
        let part = segments.list.last().map(|segment| segment.part).unwrap_or_default();
        let part = Part { element: Element::Content, message: Some(last as u32), ..part };
        segments.content_ref(answer.content.content_ref(), part);
        Ok(())
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

pub(crate) fn nothing_to_continue() -> Error {
    let what = "the last message is not the assistant's, so there is no answer to continue";
    ErrorKind::Conversation(what.into()).with_way_out(way_out!["remove ", Setting::CONTINUE_FINAL_MESSAGE])
}

pub(crate) fn nothing_to_score() -> Error {
    let what = "the last message is not the assistant's, so there is no answer to score; remove open_answer";
    ErrorKind::Conversation(what.into()).into()
}
