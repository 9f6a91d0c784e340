//! What is odd about messages, those of prompts and those of templates.

use serde_json::Value;

/// Whether a dict has another key than these.
pub(super) fn has_unknown_key(value: &Value, known: &[&str]) -> bool {
    value.as_object().is_some_and(|keys| keys.keys().any(|key| !known.contains(&key.as_str())))
}

/// Whether a key of a message is of another type than it can be, or stands in a marker. Content parts are others' business.
pub(super) fn has_wrong_type(item: &Value) -> bool {
    let is_text = |key: &&str| item.get(key).is_none_or(Value::is_string);
    let has_texts = ["role", "prompt", "begin", "end"].iter().all(is_text);
    let has_fallback = item["fallback_role"].is_null() || item["fallback_role"].is_string();
    let has_generate = item.get("generate").is_none_or(Value::is_boolean);
    let is_two = item.get("section").is_some() && has_unknown_key(item, &["section", "pos"]);
    item.is_object() && (!has_texts || !has_fallback || !has_generate || is_two)
}

/// Whether this is no OpenAI-style message: it has no role, no content, or keys of a prompt list.
pub(super) fn is_odd_message(item: &Value) -> bool {
    let others = ["prompt", "prompt_mm", "fallback_role", "begin", "end", "generate", "section", "pos"];
    let has_content = item["content"].is_string() || is_parts(&item["content"]);
    !item["role"].is_string() || !has_content || others.iter().any(|key| item.get(key).is_some())
}

/// Whether an item of a prompt list is a message of nobody.
pub(super) fn has_no_role(item: &Value) -> bool {
    item.is_object() && item.get("role").is_none() && item.get("section").is_none()
}

/// Whether a content is a list of parts.
pub(super) fn is_parts(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().all(Value::is_object))
}

/// The items of a dialogue, or of those for each label.
pub(super) fn said(template: &Value) -> Vec<&Value> {
    let dialogues = template.as_object().into_iter().flat_map(serde_json::Map::values).chain([template]);
    let parts = dialogues.flat_map(|dialogue| ["begin", "round", "end"].map(|part| &dialogue[part]));
    parts.filter_map(Value::as_array).flatten().collect()
}

/// The content parts in a dialogue, each message's.
pub(super) fn parts_in_dialogue(config: &Value) -> Vec<&Value> {
    let is_pattern = config["type"] == "MMPromptTemplate";
    let messages = if is_pattern { Vec::new() } else { said(&config["template"]) };
    messages.into_iter().filter_map(|message| message.get("prompt_mm")).collect()
}

/// What `ChatInferencer` makes messages of.
pub(super) fn spoken(template: &Value) -> Vec<&Value> {
    let parts = ["begin", "round", "end"].map(|part| &template[part]);
    let items = parts.into_iter().flat_map(|part| part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice));
    let is_spoken = |item: &&Value| match item.as_str() {
        Some(text) => !text.is_empty(),
        None => ["HUMAN", "BOT", "SYSTEM"].iter().any(|role| item["role"] == *role),
    };
    items.filter(is_spoken).collect()
}
