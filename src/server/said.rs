//! What an answer says in parts of several kinds, as the message of a chat says it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::{At, Result};
use crate::input::from_json;
use crate::server::EngineAnswer;
use crate::server::answer::TOOL_CALLS;
use crate::server::raw_object::RawObject;

/// What the parts of an answer say.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) text: String,
    pub(super) beside: Beside<'a>,
}

/// What they say besides the text, with the keys of a chat's message.
#[derive(Default, Serialize)]
pub(super) struct Beside<'a> {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reasoning_content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) refusal: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    /// All parts, if one of them is of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ToolCall {
    id: Option<String>,
    r#type: &'static str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: String,
    /// JSON, as a string.
    arguments: String,
}

impl<'a> Said<'a> {
    /// Reads the parts that a key lists. `read` tells whether a part is of a known kind.
    pub(super) fn of_parts(
        object: &RawObject<'a>,
        key: &str,
        read: fn(&RawObject<'_>, &mut Self) -> Result<bool>,
    ) -> Result<Self> {
        let mut said = Self::default();
        let parts: Vec<&RawValue> = object.get(key)?.unwrap_or_default();
        for (i, part) in parts.into_iter().enumerate() {
            let is_known = from_json(part.get()).and_then(|part| read(&part, &mut said));
            if !is_known.at(format_args!("{key}[{i}]"))? {
                said.beside.content = object.raw(key);
            }
        }
        Ok(said)
    }

    pub(super) fn call_tool(&mut self, id: Option<String>, name: String, arguments: String) {
        self.beside.tool_calls.push(ToolCall { id, r#type: "function", function: Function { name, arguments } });
    }

    /// Why the answer ended, if the server says that it is complete.
    pub(super) fn complete(&self) -> &'static str {
        if self.beside.tool_calls.is_empty() { "stop" } else { TOOL_CALLS }
    }

    /// The answer, with the other keys of its line.
    pub(super) fn into_answer(self, line: EngineAnswer<'a>) -> EngineAnswer<'a> {
        let beside = to_raw_value(&self.beside).expect("these are texts, and what was JSON before");
        let message = (beside.get() != "{}").then_some(Cow::Owned(beside));
        EngineAnswer { text: Some(self.text), is_chat: true, message, ..line }
    }
}
