//! Conversations of Python: plain messages as they are, everything else as a record of JSON.

use std::cell::RefCell;
use std::fmt::Display;

use metatok::build::Notes;
use metatok::conversation::{ChatMessage, Content, Conversation, MediaKind, Mode, object_of_python};
use metatok::dataset::prompter::ScoredText;
use metatok::dataset::records::{InputFormat, Record, RecordReader, is_record_key};
use metatok::{Error, ErrorKind, PromptBuilder, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;

use crate::error::OrRaise;
use crate::json::{keys_to_json, text, to_json};
use crate::spare::Spare;

/// A conversation, and what else its record says.
pub(crate) struct Said {
    pub(crate) conversation: Conversation,
    /// The id, as JSON.
    pub(crate) id: Option<String>,
    /// The part that is scored, of a text to score.
    pub(crate) scored: ScoredText,
    /// How many tokens the answer may have.
    pub(crate) max_out_len: Option<u64>,
}

/// Reads conversations, and notes what their prompts leave out.
#[derive(Debug)]
pub(crate) struct Reader<'b> {
    builder: &'b PromptBuilder,
    records: RecordReader,
    notes: Notes,
    spare: Option<&'b Spare>,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(builder: &'b PromptBuilder) -> Self {
        Self::of_records(builder, builder.record_reader(InputFormat::Auto))
    }

    /// A reader for a builder, with what this reads of a record.
    pub(crate) fn of_records(builder: &'b PromptBuilder, records: RecordReader) -> Self {
        Self { builder, records, notes: Notes::default(), spare: None }
    }

    /// Reads with memory that is put back after use.
    pub(crate) fn reusing(self, spare: &'b Spare) -> Self {
        Self { spare: Some(spare), ..self }
    }

    /// What was noted.
    pub(crate) fn into_notes(self) -> Notes {
        self.notes
    }

    /// What Python gives as a conversation: messages, a string, a prompt list, or a record with one of these, as in a file.
    ///
    /// # Errors
    /// `TypeError` for what cannot be one; `InputError` for what is not JSON; otherwise as for a line of a file.
    pub(crate) fn object(&mut self, object: &Bound<'_, PyAny>, place: impl Display) -> PyResult<Said> {
        self.try_object(object, place)?.or_raise(object.py())
    }

    /// Reads what Python gives as a conversation, and leaves an error of the library as it is.
    pub(crate) fn try_object(&mut self, object: &Bound<'_, PyAny>, place: impl Display) -> PyResult<Result<Said>> {
        let py = object.py();
        let messages = match object.cast_exact::<PyDict>() {
            Ok(record) if record.len() == 1 => record.get_item(intern!(py, "messages"))?,
            _ => None,
        };
        let spare = || self.spare.map(Spare::take).unwrap_or_default();
        if let Some(messages) = plain_messages(messages.as_ref().unwrap_or(object), spare) {
            return Ok(self.record(Conversation::Messages(messages).into(), place));
        }
        let large_id = RefCell::new(None);
        let in_place = |key: &str, value: &Bound<'_, PyAny>| match large_integer(value).filter(|_| key == "id") {
            Some(digits) => {
                large_id.replace(Some(digits));
                Some(Value::Null)
            }
            None => unread(key, value),
        };
        let json = match keys_to_json(object, None, in_place)? {
            Some(record) => record,
            None => to_json(object)?,
        };
        if !(json.is_object() || json.is_array() || json.is_string()) {
            let name = object.get_type().qualname()?;
            let what = "a conversation is a list of messages, a string, or a dict with messages";
            return Err(PyTypeError::new_err(format!("{what}, not {name}")));
        }
        let said = self.json(&json.to_string(), place);
        Ok(match large_id.into_inner() {
            Some(id) => said.map(|said| Said { id: Some(id), ..said }),
            None => said,
        })
    }

    /// A record of the JSON of a value. Nobody sees this JSON, so errors do not say where in it they are.
    ///
    /// # Errors
    /// As for a line of a file.
    pub(crate) fn json(&mut self, json: &str, place: impl Display) -> Result<Said> {
        let record = self.records.parse(json).map_err(without_column)?;
        self.record(record, place)
    }

    /// A record that is read already.
    ///
    /// # Errors
    /// If nothing of it is left to build.
    pub(crate) fn record(&mut self, record: Record<'_>, place: impl Display) -> Result<Said> {
        let record = self.records.prepared(record)?;
        self.notes.see_record(&record, self.builder, place);
        let mode = self.builder.mode();
        let (id, max_out_len) =
            (record.id.map(|id| id.get().to_owned()), record.max_out_len.filter(|_| mode == Mode::Generate));
        let (conversation, scored) = record.into_conversation(mode)?;
        Ok(Said { conversation, id, scored, max_out_len })
    }
}

/// A conversation of which nothing is told.
///
/// # Errors
/// As for [`Reader::object`].
pub(crate) fn conversation(object: &Bound<'_, PyAny>, builder: &PromptBuilder) -> PyResult<Conversation> {
    Ok(Reader::new(builder).object(object, "the conversation")?.conversation)
}

/// The error without the column of the text that it is in.
fn without_column(error: Error) -> Error {
    let ErrorKind::Parse(what) = error.kind() else { return error };
    match what.rsplit_once(" at column ") {
        Some((what, column)) if column.parse::<usize>().is_ok() => {
            let plain = Error::from(ErrorKind::Parse(what.to_owned())).with_fault(error.fault());
            error.places().iter().rev().fold(plain, |plain, place| plain.at(place.clone()))
        }
        _ => error,
    }
}

/// The digits of an integer of more than 64 bits, which would become a float.
fn large_integer(value: &Bound<'_, PyAny>) -> Option<String> {
    let is_large =
        value.is_instance_of::<PyInt>() && value.extract::<i64>().is_err() && value.extract::<u64>().is_err();
    is_large.then(|| Some(value.str().ok()?.to_string()))?
}

/// What stands in place of a record's value that is not read, such as a picture of its own under `image`, as `datasets` has it.
fn unread(key: &str, value: &Bound<'_, PyAny>) -> Option<Value> {
    if !is_record_key(key) {
        return Some(Value::Bool(true));
    }
    let kind = MediaKind::ALL.into_iter().find(|kind| [kind.name(), kind.list_key()].contains(&key))?;
    // A list of NumPy has objects or texts.
    let listed = value.call_method0("tolist").ok().filter(|_| !is_array(value));
    let value = listed.as_ref().unwrap_or(value);
    match value.cast::<PyList>() {
        Ok(list) if list.iter().any(|item| is_opened(&item)) => {
            // Whatever else is wrong with it is told when it is read as a whole.
            let source = |item| if is_opened(&item) { Ok(object_of_python()) } else { to_json(&item) };
            list.iter().map(source).collect::<PyResult<_>>().ok()
        }
        Ok(_) => None,
        Err(_) if is_opened(value) => Some(object_of_python()),
        Err(_) if key == kind.name() && (value.cast::<PyString>().is_err() && value.cast::<PyDict>().is_err()) => {
            Some(Value::Null)
        }
        Err(_) => None,
    }
}

/// Whether it is a picture, sound or video itself, such as an image of PIL or an array: an object that is no plain value.
fn is_opened(source: &Bound<'_, PyAny>) -> bool {
    let is_number = source.is_instance_of::<PyInt>() || source.is_instance_of::<PyFloat>();
    is_array(source) || !is_number && to_json(source).is_err()
}

/// Whether it is an array of numbers, of NumPy or torch.
fn is_array(object: &Bound<'_, PyAny>) -> bool {
    let kind = || object.getattr("dtype").ok()?.getattr("kind").ok()?.extract::<String>().ok();
    object.hasattr("shape").unwrap_or_default() && kind().is_none_or(|kind| !["O", "U", "S"].contains(&kind.as_str()))
}

/// A list of dicts that have nothing but a role and a content, both strings; none for anything else. The messages take over
/// the memory of spare ones.
fn plain_messages(object: &Bound<'_, PyAny>, spare: impl FnOnce() -> Vec<ChatMessage>) -> Option<Vec<ChatMessage>> {
    let list = object.cast_exact::<PyList>().ok()?;
    let mut messages = spare();
    let mut count = 0;
    for item in list.iter() {
        // Of an error, whoever reads it as JSON says where it is.
        plain_message(&item, &mut messages, count).ok()??;
        count += 1;
    }
    // The others are of another conversation. The list may have become shorter while it was read.
    messages.truncate(count);
    Some(messages).filter(|messages| !messages.is_empty())
}

/// Puts this message in its place; none if it has anything else.
fn plain_message(item: &Bound<'_, PyAny>, messages: &mut Vec<ChatMessage>, i: usize) -> PyResult<Option<()>> {
    let py = item.py();
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Ok(None) };
    if dict.len() != 2 {
        return Ok(None);
    }
    let (role, content) = (dict.get_item(intern!(py, "role"))?, dict.get_item(intern!(py, "content"))?);
    let (Some(role), Some(content)) = (role, content) else { return Ok(None) };
    let (Ok(role), Ok(content)) = (role.cast::<PyString>(), content.cast::<PyString>()) else { return Ok(None) };
    let (role, content) = (text(role)?, text(content)?);
    match messages.get_mut(i) {
        Some(ChatMessage { role: old, content: Content::Text(filled), others }) => {
            others.clear();
            if *old != *role {
                *old = role.into();
            }
            filled.clear();
            filled.push_str(&content);
        }
        Some(other) => *other = ChatMessage::new(role, content),
        None => messages.push(ChatMessage::new(role, content)),
    }
    Ok(Some(()))
}
