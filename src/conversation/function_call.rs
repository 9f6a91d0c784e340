//! Calls of tools: their arguments, and how LLaMA-Factory writes them in ShareGPT's turns, as JSON in the value of a turn
//! from `function_call`.
//!
//! Source of the latter: `FunctionFormatter` in `src/llamafactory/data/formatter.py` at 1638488.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::{ChatMessage, Content, Conversation, says_nothing};
use crate::error::{At, ErrorKind, Place, Result};
use crate::wording::{in_line_of, shortened};

impl ChatMessage {
    /// The arguments of its calls of tools.
    pub(crate) fn call_arguments(&self) -> impl Iterator<Item = &Value> {
        let calls = self.others.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        calls.filter_map(|call| call.pointer("/function/arguments"))
    }
}

impl Conversation {
    /// Makes the messages of a request what servers give to chat templates: contents are texts, lists of calls are not
    /// empty, and the arguments of calls are objects. Sources: `_parse_chat_message_content` and `_postprocess_messages` in
    /// `vllm/renderers/chat_utils.py` of vLLM 0.32, and `serving_chat.py` of SGLang.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the call whose arguments are no object.
    pub(crate) fn read_as_server(&mut self) -> Result<()> {
        let messages = match self {
            Self::Messages(messages) => messages,
            Self::Chat(chat) => &mut chat.messages,
            Self::Text(_) | Self::List(_) => return Ok(()),
        };
        messages.iter_mut().enumerate().try_for_each(|(i, message)| read_message(message).at(Place::Message(i)))
    }
}

fn read_message(message: &mut ChatMessage) -> Result<()> {
    if message.content == Content::Null {
        message.content = "".into();
    }
    if message.others.get("tool_calls").is_some_and(says_nothing) {
        message.others.shift_remove("tool_calls");
    }
    let calls = message.others.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
    for (i, call) in calls.enumerate() {
        if let Some(Value::Object(function)) = call.get_mut("function") {
            let arguments = function.entry("arguments").or_insert(Value::Null);
            *arguments = read_arguments(arguments.take()).at(format_args!("tool_calls[{i}]"))?;
        }
    }
    Ok(())
}

/// The object that the arguments of a call are, or that they have as JSON in a text, as in OpenAI's API.
///
/// # Errors
/// [`ErrorKind::Parse`] and [`ErrorKind::Invalid`] for anything else, which SGLang refuses and vLLM drops.
pub(super) fn read_arguments(arguments: Value) -> Result<Value> {
    let read = match arguments {
        Value::Null => json!({}),
        Value::String(text) if text.is_empty() => json!({}),
        Value::String(text) => {
            serde_json::from_str(&text).map_err(|error| in_line_of(&text, &error)).at("arguments")?
        }
        other => other,
    };
    if read.is_object() {
        return Ok(read);
    }
    let what = format!("\"arguments\" must be an object, not {}", shortened(read.to_string(), LONGEST));
    Err(ErrorKind::Invalid(what).with_way_out("write an object; vLLM reads anything else as {}"))
}

/// The most characters of a value that an error shows.
const LONGEST: usize = 60;

/// Ends the thoughts before a call.
const END_OF_THOUGHTS: &str = "</think>";

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Calls {
    One(Call),
    Several(Vec<Call>),
}

/// The thoughts before the calls, and the calls as OpenAI-style messages have them; none if these are no calls.
pub(super) fn calls(value: &str) -> Option<(&str, Value)> {
    let thoughts = value.rfind(END_OF_THOUGHTS).map_or(0, |at| at + END_OF_THOUGHTS.len());
    let (thoughts, calls) = value.split_at(thoughts);
    let calls = match serde_json::from_str(calls).ok()? {
        Calls::One(call) => vec![call],
        Calls::Several(calls) => calls,
    };
    let call = |Call { id, name, arguments }| match id {
        Some(id) => json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}),
        None => json!({"type": "function", "function": {"name": name, "arguments": arguments}}),
    };
    (!calls.is_empty()).then(|| (thoughts, calls.into_iter().map(call).collect()))
}
