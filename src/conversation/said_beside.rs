//! What an answer says besides its content.

use serde_json::Value;

/// The keys of a message under which servers write it.
pub(crate) const SAID_BESIDE: [&str; 6] =
    ["audio", "function_call", "reasoning", "reasoning_content", "refusal", "tool_calls"];

/// Whether a value is as good as missing: what servers and tables write for a key that a message does not have.
pub(crate) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.values().all(says_nothing),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_says_nothing_if_all_in_it_does() {
        for value in [json!(null), json!(false), json!(""), json!([]), json!({}), json!({"id": null, "data": ""})] {
            assert!(says_nothing(&value), "{value}");
        }
        for value in [json!(true), json!(0), json!(" "), json!([null]), json!({"id": null, "data": "x"})] {
            assert!(!says_nothing(&value), "{value}");
        }
    }
}
