//! Calls of tools as LLaMA-Factory writes them in ShareGPT's turns: JSON in the value of a turn from `function_call`.
//!
//! Source: `FunctionFormatter` in `src/llamafactory/data/formatter.py` at 1638488.

use serde::Deserialize;
use serde_json::{Value, json};

/// What ends a model's thoughts, in nearly all chat templates that know any.
pub(crate) const END_OF_THOUGHTS: &str = "</think>";

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
