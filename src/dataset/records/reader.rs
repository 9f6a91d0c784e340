//! Reading a record of a conversation, in any of the common formats.

use crate::conversation::{ChatMessage, Conversation};
use crate::dataset::records::other_roles::OwnRoles;
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
    own_roles: OwnRoles,
    makes_messages: bool,
}

impl RecordReader {
    /// Reads records of this format.
    pub fn new(format: InputFormat) -> Self {
        Self { format, ..Self::default() }
    }

    /// Accepts what these readers of a conversation have a place for beside its messages, instead of rejecting it.
    #[must_use]
    pub fn reads_for(self, reads_for: ReadsFor) -> Self {
        Self { reads_for, ..self }
    }

    /// Keeps the names of these roles, which are the template's own.
    pub(crate) fn keeps_roles(self, own_roles: OwnRoles) -> Self {
        Self { own_roles, ..self }
    }

    /// Whether a text and its completion become messages of the user and the assistant, as a chat wrapper makes one of a text.
    pub(crate) fn makes_messages(self, makes_messages: bool) -> Self {
        Self { makes_messages, ..self }
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
            return self.own_roles.convert(record);
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
        self.prepared(record)
    }

    /// A record that is read already, with what is done to all of them: the roles of its messages by OpenAI's names where
    /// training frameworks have others, such as `human` and `tool_call`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for calls of tools in a content that is not JSON.
    pub fn prepared<'a>(&self, record: Record<'a>) -> Result<Record<'a>> {
        let mut record = self.own_roles.convert(record)?;
        if self.makes_messages
            && let Conversation::Text(prompt) = &mut record.conversation
            && let Some(completion) = record.completion.take_if(|completion| !completion.is_empty())
        {
            let messages = [("user", std::mem::take(prompt)), ("assistant", completion)];
            record.conversation = Conversation::from(messages.map(|(role, text)| ChatMessage::new(role, text)));
            record.completion_messages = Some(1);
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
