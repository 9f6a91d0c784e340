//! Prompts for models behind an API.

use metatok::render::{ApiPrompt, ApiTemplate, ApiTurn};
use metatok::{Conversation, ErrorKind, Mode};
use serde_json::{Value, json};

use crate::dataset::matches;
use crate::{Outcome, Replayer, chat, conversation, show};

/// What OpenCompass's parser for API models makes of a prompt.
pub(crate) fn parsed(meta: &Value, prompt: &Value, mode: &str) -> metatok::Result<Value> {
    let mode: Mode = mode.parse()?;
    if let Some(batch) = prompt.as_array().filter(|items| !are_messages(items)) {
        return batch.iter().map(|prompt| parsed(meta, prompt, &mode.to_string())).collect();
    }
    let conversation = conversation(prompt)?;
    Ok(recorded(&template(meta)?.prompt(&conversation, mode)?))
}

/// Whether a list is of OpenAI-style messages, and no batch.
pub(crate) fn are_messages(items: &[Value]) -> bool {
    items.iter().all(|item| item.get("content").is_some())
}

/// Whether there is no meta template, as a model file can say it: null, `{}` or `[]`. What else Python takes for none,
/// the library refuses.
pub(crate) fn is_none(meta: &Value) -> bool {
    match meta {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(keys) => keys.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(crate) fn template(meta: &Value) -> metatok::Result<ApiTemplate> {
    if is_none(meta) {
        return Ok(ApiTemplate::default());
    }
    serde_json::from_value(meta.clone()).map_err(|error| ErrorKind::Parse(error.to_string()).into())
}

pub(crate) fn recorded(prompt: &ApiPrompt) -> Value {
    match prompt {
        ApiPrompt::Turns(turns) => json!({ "$pl": turns }),
        other => json!(other),
    }
}

/// The meta template's own turn is recorded with its `api_role` too.
pub(crate) fn without_api_role(recorded: &Value) -> Value {
    if let Some(batch) = recorded.as_array() {
        return batch.iter().map(without_api_role).collect();
    }
    let mut recorded = recorded.clone();
    for item in recorded.get_mut("$pl").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(item) = item.as_object_mut() {
            item.remove("api_role");
        }
    }
    recorded
}

/// Turns as OpenAI-style messages, in the ways in which the wrappers make them.
pub(crate) fn convert(replayer: &Replayer, case: &Value) -> Outcome {
    let job = &case["job"];
    let inputs = job["inputs"].as_array().expect("it has inputs");
    let mut excepted = None;
    for (key, expected) in case["expect"].as_object().into_iter().flatten() {
        let (merge, keep_empty) = match key.as_str() {
            "chat" => (true, false),
            "chat_nomerge" => (false, false),
            "chat_keepempty" => (true, true),
            "openai_chat_inferencer" => (false, false),
            // Contents one after the other.
            _ => continue,
        };
        let messages = |input: &Value| -> metatok::Result<Value> {
            let prompt = match conversation(input)? {
                Conversation::Text(text) => ApiPrompt::Text(text),
                Conversation::Messages(messages) => ApiPrompt::Messages(messages),
                Conversation::Chat(chat) => ApiPrompt::Messages(chat.messages),
                Conversation::List(_) => {
                    let turns: Vec<ApiTurn> = serde_json::from_value(input["$pl"].clone())
                        .map_err(|error| ErrorKind::Parse(error.to_string()))?;
                    ApiPrompt::Turns(turns)
                }
            };
            Ok(json!(prompt.messages(merge, keep_empty)?))
        };
        let found = match key.as_str() {
            "openai_chat_inferencer" => chat::converted(inputs),
            _ => inputs.iter().map(messages).collect::<metatok::Result<Value>>(),
        };
        if !matches(&found, expected) {
            let is_chat = key == "openai_chat_inferencer";
            let inferencer = is_chat.then_some("ChatInferencer");
            let job = json!({ "prompt": inputs, "inferencer": { "type": inferencer } });
            let converted = |input: &Value| match is_chat {
                true => conversation(input).map(|input| json!(input.to_chat())),
                false => messages(input),
            };
            match replayer.excepted_in(&job, expected, &converted) {
                Some(rule) => excepted = Some(rule),
                None => return Outcome::Failed(format!("{key}: {}", show(&found, expected))),
            }
        }
    }
    excepted.map_or(Outcome::Passed, Outcome::Excepted)
}
