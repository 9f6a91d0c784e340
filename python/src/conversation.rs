//! Conversations of Python: plain messages as they are, everything else as a record of JSON.

use metatok::PromptBuilder;
use metatok::conversation::{ChatMessage, Conversation};
use metatok::dataset::records::InputFormat;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::error::OrRaise;
use crate::json::{text, to_json};

/// What Python gives as a conversation: messages, a string, a prompt list, or a record with one of these, as in a file.
///
/// # Errors
/// `InputError` or `TypeError` for what is no JSON; otherwise as for a line of a file.
pub(crate) fn conversation(object: &Bound<'_, PyAny>, builder: &PromptBuilder) -> PyResult<Conversation> {
    let messages = match object.cast_exact::<PyDict>() {
        Ok(record) if record.len() == 1 => record.get_item(intern!(object.py(), "messages"))?,
        _ => None,
    };
    if let Some(messages) = plain_messages(messages.as_ref().unwrap_or(object))? {
        return Ok(Conversation::Messages(messages));
    }
    of_json(&to_json(object)?.to_string(), builder).or_raise(object.py())
}

/// A record, as in a line of a file.
///
/// # Errors
/// As for a line of a file.
pub(crate) fn of_json(json: &str, builder: &PromptBuilder) -> metatok::Result<Conversation> {
    let record = builder.record_reader(InputFormat::Auto).parse(json)?;
    Ok(record.into_conversation(builder.mode())?.0)
}

/// A list of dicts that have nothing but a role and a content, both strings; none for anything else.
fn plain_messages(object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ChatMessage>>> {
    let Ok(list) = object.cast_exact::<PyList>() else { return Ok(None) };
    let mut messages = Vec::with_capacity(list.len());
    for item in list.iter() {
        match plain_message(&item)? {
            Some(message) => messages.push(message),
            None => return Ok(None),
        }
    }
    Ok(Some(messages).filter(|messages| !messages.is_empty()))
}

fn plain_message(item: &Bound<'_, PyAny>) -> PyResult<Option<ChatMessage>> {
    let py = item.py();
    let Ok(dict) = item.cast_exact::<PyDict>() else { return Ok(None) };
    if dict.len() != 2 {
        return Ok(None);
    }
    let (role, content) = (dict.get_item(intern!(py, "role"))?, dict.get_item(intern!(py, "content"))?);
    let (Some(role), Some(content)) = (role, content) else { return Ok(None) };
    let (Ok(role), Ok(content)) = (role.cast::<PyString>(), content.cast::<PyString>()) else { return Ok(None) };
    Ok(Some(ChatMessage::new(text(role)?, text(content)?)))
}
