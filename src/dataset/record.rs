//! What a line of conversations holds.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::conversation::Conversation;
use crate::error::{ErrorKind, Result};

/// A conversation, and the id that its line gives it.
#[derive(Debug)]
pub struct Record<'a> {
    /// The line's `id` as it is written: a JSON string or number.
    pub id: Option<&'a str>,
    /// The conversation.
    pub conversation: Conversation,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    messages: Option<Conversation>,
    prompt: Option<Conversation>,
}

impl<'a> Record<'a> {
    /// Reads a line: an object with `messages` or `prompt` (other keys are none of metatok's business),
    /// a `PromptList` or list of messages, or a string.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with the column.
    pub fn parse(line: &'a str) -> Result<Self> {
        let failed = |error: serde_json::Error| ErrorKind::Parse(without_line(&error));
        if !line.trim_start().starts_with('{') {
            return match line.trim_start().as_bytes() {
                [b'[' | b'"', ..] => Ok(Self { id: None, conversation: serde_json::from_str(line).map_err(failed)? }),
                _ => Err(ErrorKind::Parse("not a conversation: a line is a JSON object, list or string".into()).into()),
            };
        }
        let object: Object = serde_json::from_str(line).map_err(failed)?;
        let id = object.id.map(RawValue::get);
        if id.is_some_and(|id| id.starts_with(['{', '[', 't', 'f'])) {
            return Err(ErrorKind::Parse("id: expected a string or a number".into()).into());
        }
        let conversation = match (object.messages, object.prompt) {
            (Some(conversation), None) | (None, Some(conversation)) => conversation,
            (Some(_), Some(_)) => {
                return Err(ErrorKind::Parse("there is both \"messages\" and \"prompt\"; leave one out".into()).into());
            }
            (None, None) => return Err(ErrorKind::Parse("there is neither \"messages\" nor \"prompt\"".into()).into()),
        };
        Ok(Self { id: id.filter(|id| *id != "null"), conversation })
    }
}

/// The message without "at line 1", which is not the number of the line in its file.
fn without_line(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.split_once(" at line ") {
        Some((what, _)) => format!("{what} at column {}", error.column()),
        None => message,
    }
}
