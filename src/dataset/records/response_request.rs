//! Requests to OpenAI's `/v1/responses`.

use serde_json::Value;

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

/// A request to `/v1/responses`: a text, or items, after the instructions.
pub(super) fn response_request<'a>(keys: &Keys<'a>, reads_for: ReadsFor) -> Result<Record<'a>> {
    for key in ["previous_response_id", "prompt", "conversation"] {
        if !keys.is_empty(key) {
            let why = "what it names is on the server";
            return Err(ErrorKind::WouldBeLost { key, why }.with_way_out("put all messages into \"input\""));
        }
    }
    let messages = match keys.get("input")? {
        Some(Value::String(text)) => vec![ChatMessage::new("user", text)],
        Some(Value::Array(items)) => messages_of_items(items)?,
        _ => return Err(refused("\"input\" must be a text or a list of items")),
    };
    let instructions = keys.text("instructions")?;
    let system = (!instructions.is_empty()).then(|| ChatMessage::new("system", instructions));
    let conversation = Conversation::Messages(system.into_iter().chain(messages).collect());
    let tools = wrapped_tools(keys, reads_for)?;
    Ok(Record { tools, sampling_keys: sampling_keys(keys), ..Record::of(conversation) })
}
