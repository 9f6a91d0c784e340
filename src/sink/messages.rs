//! OpenAI-style messages, for servers that apply the template themselves.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::conversation::ChatMessage;
use crate::sink::PromptKey;
use crate::sink::json::{write_json, write_key, write_origin};
use crate::sink::{Accepts, OutputForm};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "messages",
    about: "OpenAI-style messages, for a server that applies the template itself",
    extension: "jsonl",
    accepts: Accepts { scores: true, ..Accepts::LINE },
    open: None,
};

/// Writes `id`, `messages` and `stop`, one object per prompt.
#[derive(Debug)]
pub struct MessagesJsonl {
    stop: Vec<String>,
}

impl MessagesJsonl {
    /// Writes these stop strings with every prompt.
    pub fn new(stop: Vec<String>) -> Self {
        Self { stop }
    }

    /// The stop strings that it writes.
    pub(crate) fn stop(&self) -> &[String] {
        &self.stop
    }

    /// Appends one prompt.
    pub fn write(&self, key: &PromptKey<'_>, messages: &[ChatMessage], out: &mut Vec<u8>) {
        self.write_with_tools(key, messages, None, out);
    }

    /// Appends one prompt, with the descriptions of tools as JSON.
    pub fn write_with_tools(
        &self,
        key: &PromptKey<'_>,
        messages: &[ChatMessage],
        tools: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        write_key(key, out);
        out.extend_from_slice(b",\"messages\":");
        write_json(&messages.iter().map(ForServer).collect::<Vec<_>>(), out);
        if let Some(tools) = tools {
            out.extend_from_slice(b",\"tools\":");
            out.extend_from_slice(tools.as_bytes());
        }
        if !self.stop.is_empty() {
            out.extend_from_slice(b",\"stop\":");
            write_json(&self.stop, out);
        }
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
    }
}

/// A message with only the keys that servers read: they reject others.
struct ForServer<'a>(&'a ChatMessage);

impl Serialize for ForServer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.0.role)?;
        map.serialize_entry("content", &self.0.content)?;
        for (key, value) in self.0.others_for_servers() {
            match key.as_str() {
                "tool_calls" | "function_call" => {
                    map.serialize_entry(key, &with_arguments_as_strings(value.clone()))?
                }
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// Chat templates take a call's arguments as an object, OpenAI's API takes them as a string of JSON.
fn with_arguments_as_strings(mut said: Value) -> Value {
    let calls = match &mut said {
        Value::Array(calls) => calls.as_mut_slice(),
        call => std::slice::from_mut(call),
    };
    for call in calls {
        let arguments = match call.get_mut("function") {
            Some(Value::Object(function)) => Some(function.entry("arguments").or_insert(Value::Null)),
            _ => call.get_mut("arguments"),
        };
        match arguments {
            Some(arguments @ Value::Null) => *arguments = "{}".into(),
            Some(arguments) if !arguments.is_string() => *arguments = arguments.to_string().into(),
            _ => {}
        }
    }
    said
}
