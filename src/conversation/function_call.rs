//! Calls of tools that are JSON in a text: in the value of a turn from `function_call`, as LLaMA-Factory writes them in
//! ShareGPT's turns, or under `tool_calls`, where a column of a table has no other type for them.
//!
//! Source: `FunctionFormatter` in `src/llamafactory/data/formatter.py` at 1638488.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::conversation::says_nothing;
use crate::wording::shortened;

/// The most characters of a value in an error.
const MOST_SHOWN: usize = 40;

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
pub(crate) fn calls(value: &str) -> Option<(&str, Value)> {
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

/// Makes a list of the calls of a message where they are JSON in a text, or one call without a list. A text that says nothing
/// is left out. What else is wrong with them is up to those that read them.
pub(super) fn read_calls(calls: &mut Value) -> Result<(), String> {
    read_text(calls)?;
    if calls.is_object() {
        *calls = if says_nothing(calls) { Value::Null } else { Value::Array(vec![calls.take()]) };
    }
    let Value::Array(list) = calls else { return Ok(()) };
    for mut call in std::mem::take(list) {
        let is_text = call.is_string();
        read_text(&mut call)?;
        if is_text && says_nothing(&call) {
            continue;
        }
        gather(&mut call);
        call.get_mut("function").map_or(Ok(()), read_text)?;
        list.push(call);
    }
    Ok(())
}

/// Puts a function's name and the arguments beside it, as Inspect writes them, into one object.
fn gather(call: &mut Value) {
    let Value::Object(entries) = call else { return };
    let is_name = |function: &Value| function.as_str().is_some_and(|name| !name.trim_start().starts_with('{'));
    if !entries.get("function").is_some_and(is_name) {
        return;
    }
    let Some(arguments) = entries.shift_remove("arguments") else { return };
    if let Some(function) = entries.get_mut("function") {
        *function = json!({"name": function.take(), "arguments": arguments});
    }
}

/// Reads a text as JSON. An empty one is as good as none.
fn read_text(value: &mut Value) -> Result<(), String> {
    let Value::String(text) = &*value else { return Ok(()) };
    *value = match serde_json::from_str(text) {
        Ok(read @ (Value::Object(_) | Value::Array(_) | Value::Null)) => read,
        Err(_) if text.trim().is_empty() => Value::Null,
        Ok(_) | Err(_) => return Err(no_call(text)),
    };
    Ok(())
}

fn no_call(text: &str) -> String {
    let shown = shortened(format!("{text:?}"), MOST_SHOWN);
    format!(
        "\"tool_calls\" must list calls, such as {{\"type\": \"function\", \"function\": {{\"name\": …, \"arguments\": …}}}}, or be JSON of them, but has the text {shown}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_texts_are_read() {
        let listed = json!([{"type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        let call = &listed[0];
        let in_text = json!({"type": "function", "function": call["function"].to_string()});
        for mut calls in [
            listed.clone(),
            listed.to_string().into(),
            json!([call.to_string()]),
            call.clone(),
            call.to_string().into(),
            json!([in_text]),
            in_text.to_string().into(),
            json!([{"type": "function", "function": "f", "arguments": "{}"}]),
            json!({"type": "function", "function": "f", "arguments": "{}"}).to_string().into(),
            json!(["", call, "{}"]),
        ] {
            read_calls(&mut calls).expect("these are calls");
            assert_eq!(calls, listed);
        }
        for (mut nothing, expected) in [
            (json!(""), Value::Null),
            (json!(" "), Value::Null),
            (json!("null"), Value::Null),
            (json!("[]"), json!([])),
            (json!([]), json!([])),
            (json!({}), Value::Null),
            (json!("{}"), Value::Null),
            (json!([""]), json!([])),
            (json!({"id": null}), Value::Null),
        ] {
            read_calls(&mut nothing).expect("there are no calls");
            assert_eq!(nothing, expected);
        }
        for mut wrong in [json!("f(x)"), json!(["f(x)"]), json!("1"), json!([{"function": "f"}])] {
            let error = read_calls(&mut wrong).expect_err("this is no call");
            assert!(error.starts_with("\"tool_calls\" must list calls"), "{error}");
        }
    }
}
