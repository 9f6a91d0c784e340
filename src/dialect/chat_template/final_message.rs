//! The last message of a chat as the beginning of an answer, or as an answer to score. Source: `continue_final_message` of
//! transformers.

use crate::compile::Atom;
use crate::conversation::{ChatMessage, Content, ContentPart, Conversation, is_space};
use crate::dialect::chat_template::ChatTemplateRenderer;
use crate::dialect::chat_template::context::Chat;
use crate::error::{ErrorKind, Result};
use crate::render::{Renderer, Segment, Segments, nothing_to_continue, nothing_to_score};

impl ChatTemplateRenderer {
    /// Writes messages up to the end of the last one's content.
    pub(super) fn write_begun_answer<'a>(
        &'a self,
        conversation: &'a Conversation,
        segments: &mut Segments<'a>,
    ) -> Result<()> {
        let chat = Chat::of(conversation, &self.added, false)?;
        let is_models = |last: &&ChatMessage| self.speaks_for_model(&last.role);
        chat.messages.last().filter(is_models).ok_or_else(nothing_to_continue)?;
        // Texts may become one, and then the template has to write all of it.
        let mut messages = self.fit(chat)?.into_owned();
        let last = messages.last_mut().ok_or_else(nothing_to_continue)?;
        let (said, begun) = tagged(last).ok_or_else(nothing_to_continue)?;
        last.content = said;
        let text = self.write(Chat { messages: &messages, ..chat }, segments)?;
        cut_at_tag(segments)?;
        if text.contains(begun.trim_matches(is_space)) {
            return Ok(());
        }
        let what = "the chat template does not write all of the last message, so it is unknown what is continued";
        Err(ErrorKind::Conversation(what.into()).with_way_out("leave out of it what the template leaves out"))
    }

    /// Writes messages up to where the model speaks, and then the content of the last one.
    pub(super) fn write_scored_answer<'a>(
        &'a self,
        conversation: &'a Conversation,
        segments: &mut Segments<'a>,
    ) -> Result<()> {
        let chat = Chat::of(conversation, &self.added, true)?;
        let is_models = |last: &&ChatMessage| self.speaks_for_model(&last.role);
        let messages = conversation.messages().unwrap_or_default();
        let answer = messages.last().filter(is_models).ok_or_else(nothing_to_score)?;
        let last = messages.len() - 1;
        self.write(Chat { messages: &messages[..last], ..chat }, segments)?;
        segments.message(&answer.content, last as u32);
        Ok(())
    }
}

/// What transformers puts after the content that is continued, to find its end in the rendered text.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The content of a message with the tag at its end, and the text before the tag.
fn tagged(message: &ChatMessage) -> Option<(Content, String)> {
    match &message.content {
        Content::Text(text) => Some((Content::Text(format!("{text}{TAG}")), text.clone())),
        Content::Parts(parts) => {
            let mut parts = parts.clone();
            if let Some(ContentPart::Ids(_)) = parts.last() {
                parts.push(ContentPart::text(""));
            }
            let last = parts.iter_mut().rev().find_map(|part| match part {
                ContentPart::Text(part) => Some(part),
                ContentPart::Media(_) | ContentPart::Ids(_) | ContentPart::Other(_) => None,
            })?;
            let text = last.text.clone();
            last.text.push_str(TAG);
            Some((Content::Parts(parts), text))
        }
        Content::Null => None,
    }
}

/// Drops what comes from the tag on, and the blanks before it if the template trimmed those after it.
fn cut_at_tag(segments: &mut Segments<'_>) -> Result<()> {
    let tag = TAG.trim_end();
    let found =
        segments.list.iter().rposition(|segment| matches!(segment.atom, Atom::Text(text) if text.contains(tag)));
    let Some(place) = found else {
        let what = "the chat template does not write the last message, so there is no answer to continue";
        return Err(ErrorKind::Conversation(what.into()).into());
    };
    // The blank after the tag may be the template's own.
    let begins_with_blank = |segment: &Segment<'_>| matches!(segment.atom, Atom::Text(text) if text.starts_with(' '));
    let blank_follows = segments.list.get(place + 1).is_some_and(begins_with_blank);
    segments.list.truncate(place + 1);
    while let Some(Segment { atom: Atom::Text(text), part }) = segments.list.pop() {
        let (text, is_trimmed) = match text.rfind(tag) {
            Some(at) => (&text[..at], !(text[at..].starts_with(TAG) || text.ends_with(tag) && blank_follows)),
            None => (text, true),
        };
        let kept = if is_trimmed { text.trim_end_matches(is_space) } else { text };
        segments.text(kept, part);
        // Blanks may be a piece of their own.
        if !is_trimmed || !kept.is_empty() {
            break;
        }
        segments.list.pop();
    }
    Ok(())
}
