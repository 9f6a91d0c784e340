//! Asking a chat template what it writes around contents.

use crate::conversation::{ChatMessage, Conversation, Mode};
use crate::dialect::ChatTemplateRenderer;
use crate::error::{Error, ErrorKind, Result};
use crate::tokenizer::Tokenizer;

/// A chat template that is asked.
pub(super) struct Probe<'r> {
    renderer: &'r ChatTemplateRenderer,
    tokenizer: &'r Tokenizer,
}

/// A text as pieces that no cut goes through: control tokens, and the single characters between them.
pub(super) type Pieces = Vec<String>;

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChatRole {
    System,
    User,
    Assistant,
}

impl ChatRole {
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl<'r> Probe<'r> {
    pub(super) fn new(renderer: &'r ChatTemplateRenderer, tokenizer: &'r Tokenizer) -> Self {
        Self { renderer, tokenizer }
    }

    /// The text of a prompt.
    ///
    /// # Errors
    /// The template refuses the conversation, or fails.
    pub(super) fn text(&self, messages: &[(ChatRole, &str)], mode: Mode) -> Result<String> {
        let messages = messages.iter().map(|(role, content)| ChatMessage::new(role.name(), *content));
        self.renderer.prompt_text(&Conversation::Messages(messages.collect()), mode)
    }

    /// What is written before, between and after the contents of these roles.
    ///
    /// # Errors
    /// Those of [`Self::text`], and if a content is not written exactly once.
    pub(super) fn gaps(&self, roles: &[ChatRole], mode: Mode) -> Result<Vec<Pieces>> {
        let contents: Vec<String> = (0..roles.len()).map(content).collect();
        let messages: Vec<_> = roles.iter().copied().zip(contents.iter().map(String::as_str)).collect();
        let text = self.text(&messages, mode)?;
        if contents.iter().any(|content| text.matches(content.as_str()).count() != 1) {
            return Err(not_once_in_order());
        }
        let (mut gaps, mut rest) = (Vec::new(), &*text);
        for content in &contents {
            let (before, after) = rest.split_once(content.as_str()).ok_or_else(not_once_in_order)?;
            gaps.push(self.pieces(before)?);
            rest = after;
        }
        gaps.push(self.pieces(rest)?);
        Ok(gaps)
    }

    fn pieces(&self, text: &str) -> Result<Pieces> {
        let mut pieces = Pieces::new();
        for cut in self.tokenizer.cut(text)? {
            let found = &text[cut.bytes];
            // Some tokens take the white space beside them, which is not always the same.
            let token = if cut.token.is_some() { found.trim() } else { "" };
            let (before, after) = found.split_once(token).unwrap_or((found, ""));
            pieces.extend(before.chars().map(String::from));
            pieces.extend((!token.is_empty()).then(|| token.to_owned()));
            pieces.extend(after.chars().map(String::from));
        }
        Ok(pieces)
    }
}

/// Why a chat template has no meta template.
pub(super) fn not_once_in_order() -> Error {
    let what = "the chat template does not write each message once, in order, so it has no meta template";
    ErrorKind::Template(what.into()).into()
}

/// A content that no template has, and that nothing is stripped of.
fn content(index: usize) -> String {
    format!("Qx{}zJ", "abcdefgh".chars().cycle().nth(index).unwrap_or('a').to_string().repeat(3 + index / 8))
}
