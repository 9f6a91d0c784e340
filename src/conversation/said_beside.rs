//! What an answer says besides its content.

use serde_json::Value;

/// The keys of a message under which servers write it.
pub(crate) const SAID_BESIDE: [&str; 6] =
    ["audio", "function_call", "reasoning", "reasoning_content", "refusal", "tool_calls"];

/// Whether a value is what servers write for a key that a message does not have.
pub(crate) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.values().all(says_nothing),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
