//! Messages of a request as servers give them to chat templates.

use serde_json::{Value, json};

use crate::conversation::{ChatMessage, Content, Conversation, says_nothing};
use crate::error::{At, ErrorKind, Place, Result};
use crate::wording::{in_line_of, shortened};

/// The most characters of a value that an error shows.
const LONGEST: usize = 60;

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
        read_call(call).at(format_args!("tool_calls[{i}]"))?;
    }
    Ok(())
}

fn read_call(call: &mut Value) -> Result<()> {
    let Some(Value::Object(function)) = call.get_mut("function") else {
        let what = format!("a call must have a \"function\" that is an object, unlike {}", shown(call));
        return Err(ErrorKind::Invalid(what).with_way_out("remove it; servers refuse other calls, too"));
    };
    let arguments = function.entry("arguments").or_insert(Value::Null);
    *arguments = read_arguments(arguments.take())?;
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
    let what = format!("\"arguments\" must be an object, not {}", shown(&read));
    Err(ErrorKind::Invalid(what).with_way_out("write an object; vLLM reads anything else as {}"))
}

fn shown(value: &Value) -> String {
    shortened(value.to_string(), LONGEST)
}
