//! Asking a chat template what it writes around contents.

use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::dialect::ChatTemplateRenderer;

/// A chat template that is asked.
pub(super) struct Probe<'r> {
    renderer: &'r ChatTemplateRenderer,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
}

impl Speaker {
    fn role(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl<'r> Probe<'r> {
    pub(super) fn new(renderer: &'r ChatTemplateRenderer) -> Self {
        Self { renderer }
    }

    /// The text of a prompt; none if the template refuses the conversation.
    pub(super) fn text(&self, messages: &[(Speaker, &str)], mode: Mode) -> Option<String> {
        let messages = messages.iter().map(|(speaker, content)| ChatMessage::new(speaker.role(), *content));
        self.renderer.prompt_text(&Conversation::Messages(messages.collect()), mode).ok()
    }

    /// What is written before, between and after the contents of these speakers; none if a content is not written exactly
    /// once.
    pub(super) fn gaps(&self, speakers: &[Speaker], mode: Mode) -> Option<Vec<String>> {
        let contents: Vec<String> = (0..speakers.len()).map(content).collect();
        let messages: Vec<_> = speakers.iter().copied().zip(contents.iter().map(String::as_str)).collect();
        let text = self.text(&messages, mode)?;
        let (mut gaps, mut rest) = (Vec::new(), &*text);
        for content in &contents {
            let (before, after) = rest.split_once(content.as_str())?;
            gaps.push(before.to_owned());
            rest = after;
        }
        let is_once = contents.iter().all(|content| text.matches(content.as_str()).count() == 1);
        gaps.push(rest.to_owned());
        is_once.then_some(gaps)
    }
}

/// A content that no template has, and that nothing is stripped of.
fn content(index: usize) -> String {
    format!("Qx{}zJ", "abcdefgh".chars().cycle().nth(index).unwrap_or('a').to_string().repeat(3 + index / 8))
}
