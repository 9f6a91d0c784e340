//! OpenAI-style messages.

use compact_str::CompactString;

use crate::conversation::content::Content;

/// An OpenAI-style message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// `user`, `assistant`, `system`, or a role of the template.
    pub role: CompactString,
    /// The content.
    pub content: Content,
    /// Its other keys, such as `name` or `tool_calls`, unchanged. Keys that would change a prompt are rejected when one
    /// is built.
    pub others: serde_json::Map<String, serde_json::Value>,
}

impl ChatMessage {
    /// A message.
    pub fn new(role: impl Into<CompactString>, content: impl Into<Content>) -> Self {
        Self { role: role.into(), content: content.into(), others: serde_json::Map::new() }
    }

    /// The arguments of its calls of tools.
    pub(crate) fn call_arguments(&self) -> impl Iterator<Item = &serde_json::Value> {
        let calls = self.others.get("tool_calls").and_then(serde_json::Value::as_array).into_iter().flatten();
        calls.filter_map(|call| call.pointer("/function/arguments"))
    }
}
