//! Messages of a request as servers give them to chat templates.

use std::fmt;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::conversation::entry::Entry;
use crate::conversation::json::list_of;
use crate::conversation::{ChatMessage, Conversation, says_nothing};
use crate::error::{At, ErrorKind, Place, Result};
use crate::wording::{in_line_of, shown};

/// A list of messages, of which one without content has an empty one. Source: `_parse_chat_message_content` in
/// `vllm/renderers/chat_utils.py` of vLLM 0.32.
pub(crate) struct ServerMessages(pub(crate) Conversation);

impl<'de> Deserialize<'de> for ServerMessages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Messages;
        impl<'de> Visitor<'de> for Messages {
            type Value = ServerMessages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of {role, content} messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> std::result::Result<ServerMessages, A::Error> {
                list_of(items, Entry::with_content).map(ServerMessages)
            }
        }
        deserializer.deserialize_seq(Messages)
    }
}

impl Conversation {
    /// Makes the messages of a request what servers give to chat templates: lists of calls are not empty, and the arguments
    /// of calls are objects. Sources: `_postprocess_messages` in `vllm/renderers/chat_utils.py` of vLLM 0.32, and
    /// `serving_chat.py` of SGLang.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the call that has no function, or whose arguments are no object.
    pub(crate) fn read_as_server(&mut self) -> Result<()> {
        let messages = self.messages_mut().iter_mut();
        messages.enumerate().try_for_each(|(i, message)| read_message(message).at(Place::Message(i)))
    }
}

fn read_message(message: &mut ChatMessage) -> Result<()> {
    // vLLM takes `reasoning`, and has that under both names.
    if let Some(reasoning) = message.others.get("reasoning").filter(|reasoning| !reasoning.is_null()).cloned()
        && let Some(other) = message.others.get_mut("reasoning_content")
    {
        *other = reasoning;
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
