//! What a record of conversations holds, in any of the forms that are in use.

use crate::conversation::{Conversation, Mode};
use crate::dataset::input_format::{InputFormat, of_format};
use crate::dataset::keys::Keys;
use crate::dataset::nesting::check_nesting;
use crate::dataset::{RowPrompt, ScoredText};
use crate::error::{ErrorKind, Result};

/// A conversation, and what its record says beside it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The record's `id` as it is written: a JSON string or number.
    pub id: Option<&'a str>,
    /// The conversation; a text without its completion.
    pub conversation: Conversation,
    /// What goes on behind a text, which is no part of what a model is to continue.
    pub completion: Option<String>,
    /// The descriptions of tools, as JSON. Only where [`RecordReader::for_server`] takes them.
    pub tools: Option<String>,
}

/// Reads records.
///
/// ```
/// use metatok::dataset::{InputFormat, RecordReader};
/// use metatok::Conversation;
///
/// let reader = RecordReader::new(InputFormat::Auto);
/// let record = reader.parse(r#"{"conversations": [{"from": "human", "value": "Hi!"}]}"#)?;
/// assert_eq!(record.conversation, serde_json::from_str(r#"[{"role": "user", "content": "Hi!"}]"#).unwrap());
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordReader {
    pub(crate) format: InputFormat,
    pub(crate) for_server: bool,
}

impl RecordReader {
    /// Reads records of this format.
    pub fn new(format: InputFormat) -> Self {
        Self { format, for_server: false }
    }

    /// Takes what only servers have a place for, `tools`, instead of refusing it.
    #[must_use]
    pub fn for_server(mut self, is: bool) -> Self {
        self.for_server = is;
        self
    }

    /// Reads a record: an object in the format, a list (a `PromptList`, or messages), or a string. Keys beside
    /// those of the format are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with the column, or with the keys that the record has where none of them is a
    /// conversation; [`ErrorKind::WouldBeLost`], [`ErrorKind::EmptyConversation`].
    pub fn parse<'a>(&self, json: &'a str) -> Result<Record<'a>> {
        check_nesting(json)?;
        let record = match json.trim_start().as_bytes() {
            [b'{', ..] => self.format.read(&Keys::parse(json)?, self.for_server)?,
            [b'[' | b'"', ..] if self.format.has_bare_values() => {
                Record::of(serde_json::from_str(json).map_err(|error| parse_error(json, json, &error))?)
            }
            [b'[' | b'"', ..] => {
                return Err(of_format(&self.format.to_string(), "a record is a JSON object".into()));
            }
            _ => {
                let what = "not a conversation: a line is a JSON object, list or string";
                return Err(ErrorKind::Invalid(what.into()).into());
            }
        };
        if record.conversation.is_empty() && record.completion.as_ref().is_none_or(String::is_empty) {
            return Err(ErrorKind::EmptyConversation.into());
        }
        Ok(record)
    }
}

impl<'a> Record<'a> {
    /// Reads a record of any format, see [`RecordReader`].
    ///
    /// # Errors
    /// As [`RecordReader::parse`].
    pub fn parse(json: &'a str) -> Result<Self> {
        RecordReader::default().parse(json)
    }

    pub(crate) fn of(conversation: Conversation) -> Self {
        Self { id: None, conversation, completion: None, tools: None }
    }

    /// The prompt: to continue, without its completion; to score, with it, which is what is scored.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyConversation`] if nothing is left.
    pub fn into_prompt(self, mode: Mode) -> Result<RowPrompt> {
        let Self { conversation, completion, tools, .. } = self;
        let (conversation, scored) = match (conversation, completion) {
            (Conversation::Text(text), Some(completion)) if mode == Mode::Score => {
                let scored = ScoredText::After(text.len());
                (Conversation::Text(text + &completion), scored)
            }
            (conversation, _) => (conversation, ScoredText::Whole),
        };
        if conversation.is_empty() {
            return Err(ErrorKind::EmptyConversation.into());
        }
        Ok(RowPrompt { scored, tools, ..conversation.into() })
    }
}

/// A parser's message with the place in the record, of which `part` was parsed.
pub(crate) fn parse_error(record: &str, part: &str, error: &serde_json::Error) -> ErrorKind {
    let message = error.to_string();
    let Some((what, _)) = message.rsplit_once(" at line ") else { return ErrorKind::Parse(message) };
    let start = (part.as_ptr() as usize).saturating_sub(record.as_ptr() as usize).min(record.len());
    let before = &record.as_bytes()[..start];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + error.line();
    let column = match error.line() {
        0 | 1 => start - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + error.column(),
        _ => error.column(),
    };
    ErrorKind::Parse(match record.trim_end().contains('\n') {
        false => format!("{what} at column {column}"),
        true => format!("{what} at line {line} of it, column {column}"),
    })
}
