//! Reading a record of a conversation, in any of the common formats.

use crate::dataset::records::parse_error::{messages_error, of_format};
use crate::dataset::records::reads_for::ReadsFor;
use crate::dataset::records::{InputFormat, Keys, Record, formats, plain_chat};
use crate::dataset::source::check_nesting;
use crate::error::{ErrorKind, Result};

/// Reads records.
///
/// ```
/// use metatok::dataset::records::{InputFormat, RecordReader};
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
    pub(crate) reads_for: ReadsFor,
}

impl RecordReader {
    /// Reads records of this format.
    pub fn new(format: InputFormat) -> Self {
        Self { format, reads_for: ReadsFor::Template }
    }

    /// Accepts what these readers of a conversation have a place for beside its messages, instead of rejecting it.
    #[must_use]
    pub fn reads_for(self, reads_for: ReadsFor) -> Self {
        Self { reads_for, ..self }
    }

    /// Whether all keys of messages matter to those that records are read for.
    pub(crate) fn keeps_all_keys(&self) -> bool {
        self.reads_for == ReadsFor::ChatTemplate
    }

    /// Reads a record: an object in the format, a list (a `PromptList`, or messages), or a string. Keys that the format
    /// does not have are ignored.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] with the column; [`ErrorKind::Invalid`] with the record's keys if none of them is a conversation;
    /// [`ErrorKind::WouldBeLost`], [`ErrorKind::EmptyConversation`].
    pub fn parse<'a>(&self, json: &'a str) -> Result<Record<'a>> {
        if matches!(self.format, InputFormat::Auto | InputFormat::Messages)
            && let Some(record) = plain_chat::read(json)
        {
            return Ok(record);
        }
        check_nesting(json)?;
        let record = match json.trim_start().as_bytes() {
            [b'{', ..] => formats::read(self.format, &Keys::parse(json)?, self.reads_for)?,
            [b'[' | b'"', ..] if self.format.has_bare_values() => {
                Record::of(serde_json::from_str(json).map_err(|error| messages_error(json, json, &error))?)
            }
            [b'[' | b'"', ..] => {
                return Err(of_format(&self.format.to_string(), "a record must be a JSON object".into()));
            }
            _ => {
                let what = "not a conversation: a line must be a JSON object, list or string";
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
    /// The same as for [`RecordReader::parse`].
    pub fn parse(json: &'a str) -> Result<Self> {
        RecordReader::default().parse(json)
    }
}
