//! Requests to OpenAI's `/v1/responses`.

use serde_json::{Value, json};

use crate::conversation::{ChatMessage, Conversation, messages_of_items};
use crate::dataset::records::parse_error::refused;
use crate::dataset::records::reads_for::ReadsFor;
use crate::dataset::records::sampling_keys::sampling_keys;
use crate::dataset::records::tools::wrapped_tools;
use crate::dataset::records::{Keys, Record};
use crate::error::{ErrorKind, Result};

/// Whether a request of a batch goes to `/v1/responses`, for all that is known. Other requests have an `input`, too.
pub(super) fn is_for_responses(keys: &Keys<'_>) -> Result<bool> {
    let url: Option<String> = keys.get("url")?;
    Ok(url.is_none_or(|url| url.ends_with("/responses")))
}

/// A request to `/v1/responses`: a text, or items, after the instructions. What was answered may be beside it.
pub(super) fn response_request<'a>(keys: &Keys<'a>, reads_for: ReadsFor) -> Result<Record<'a>> {
    for key in ["previous_response_id", "prompt", "conversation"] {
        if !keys.is_empty(key) {
            let why = "what it names is on the server";
            return Err(ErrorKind::WouldBeLost { key, why }.with_way_out("put all messages into \"input\""));
        }
    }
    let items = match keys.get("input")? {
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        Some(Value::Array(items)) => items,
        _ => return Err(refused("\"input\" must be a text or a list of items")),
    };
    let asked = messages_of_items(items, "input")?;
    let output: Vec<Value> =
        if keys.begins("output", '[') { keys.get("output")?.unwrap_or_default() } else { Vec::new() };
    let answer = messages_of_items(output, "output")?;
    let system = system(keys)?.map(|system| ChatMessage::new("system", system));
    let completion_messages = (!answer.is_empty()).then_some(answer.len());
    let mut conversation = Conversation::Messages(system.into_iter().chain(asked).chain(answer).collect());
    if reads_for == ReadsFor::ChatTemplate {
        conversation.read_as_server()?;
    }
    let tools = wrapped_tools(keys, reads_for)?;
    let sampling_keys = sampling_keys(keys, &["reasoning"]);
    Ok(Record { tools, completion_messages, sampling_keys, ..Record::of(conversation) })
}

/// The text of the system, of which there may be one.
fn system(keys: &Keys<'_>) -> Result<Option<String>> {
    let mut given = ["instructions", "system", "system_prompt"].into_iter().filter(|key| !keys.is_empty(key));
    match (given.next(), given.next()) {
        (Some(one), Some(other)) => Err(refused(&format!("the record has both {one:?} and {other:?} (remove one)"))),
        (one, _) => one.map(|key| keys.text(key)).transpose(),
    }
}
