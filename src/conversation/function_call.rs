//! Calls of tools: their arguments, and how LLaMA-Factory writes them in ShareGPT's turns, as JSON in the value of a turn
//! from `function_call`.
//!
//! Source of the latter: `FunctionFormatter` in `src/llamafactory/data/formatter.py` at 1638488.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::conversation::{ChatMessage, Conversation};

impl ChatMessage {
    /// The arguments of its calls of tools.
    pub(crate) fn call_arguments(&self) -> impl Iterator<Item = &Value> {
        let calls = self.others.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        calls.filter_map(|call| call.pointer("/function/arguments"))
    }

    fn call_arguments_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let calls = self.others.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten();
        calls.filter_map(|call| call.pointer_mut("/function/arguments"))
    }
}

impl Conversation {
    /// Reads the arguments of calls that are texts, as in OpenAI's requests. Servers give chat templates objects:
    /// `_postprocess_messages` in `chat_utils.py` of vLLM, and `serving_chat.py` of SGLang.
    pub(crate) fn read_arguments(&mut self) {
        let messages = match self {
            Self::Messages(messages) => messages,
            Self::Chat(chat) => &mut chat.messages,
            Self::Text(_) | Self::List(_) => return,
        };
        for arguments in messages.iter_mut().flat_map(ChatMessage::call_arguments_mut) {
            match arguments {
                Value::String(text) if text.is_empty() => *arguments = json!({}),
                Value::String(text) => *arguments = read_arguments(std::mem::take(text)),
                _ => {}
            }
        }
    }
}

/// The object that a text has as JSON, or the text itself.
pub(super) fn read_arguments(text: String) -> Value {
    serde_json::from_str::<Map<String, Value>>(&text).map_or(Value::String(text), Value::Object)
}

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
