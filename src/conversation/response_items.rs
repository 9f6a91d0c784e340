//! The items of a request to OpenAI's `/v1/responses`, as messages.
//!
//! Sources: OpenAI's OpenAPI description 2.3.0, `CreateResponse`; `vllm/entrypoints/openai/responses/utils.py` of vLLM 0.31,
//! which makes one message of the thoughts, the text and the calls of one answer.

use serde_json::{Map, Value, json};

use crate::conversation::ChatMessage;
use crate::conversation::server_messages::read_arguments;
use crate::error::{At, ErrorKind, Result};
use crate::wording::plain;

/// An item, a message or a part of one.
type Object = Map<String, Value>;

/// Keys of an item that no message has.
const OF_ITEMS: [&str; 4] = ["id", "phase", "status", "type"];

/// The messages of the items in the list of this name.
///
/// # Errors
/// [`ErrorKind::Parse`] with the item that a prompt has no place for.
pub(crate) fn messages_of_items(items: Vec<Value>, name: &str) -> Result<Vec<ChatMessage>> {
    let mut messages = Vec::new();
    for (i, item) in items.into_iter().enumerate() {
        add(item, &mut messages).at(format_args!("{name}[{i}]"))?;
    }
    let messages = messages.into_iter().enumerate();
    messages.map(|(i, message)| read(message).at(format_args!("message {i}"))).collect()
}

fn read(mut message: Object) -> Result<ChatMessage> {
    // Templates write the content of every message.
    message.entry("content").or_insert_with(|| "".into());
    serde_json::from_value(Value::Object(message)).map_err(|error| ErrorKind::Parse(plain(&error.to_string())).into())
}

/// Adds what an item says to the messages before it.
fn add(item: Value, messages: &mut Vec<Object>) -> Result<()> {
    let Value::Object(mut item) = item else { return Err(ErrorKind::Parse("it is not an object".into()).into()) };
    match item.get("type").and_then(Value::as_str) {
        None | Some("message") => add_message(item, messages),
        Some("reasoning") => add_thoughts(&mut item, messages),
        Some("function_call") => {
            let call = call(&mut item)?;
            match answer(messages).and_then(|answer| answer.get_mut("tool_calls")?.as_array_mut()) {
                Some(calls) => calls.push(call),
                None => say(said("tool_calls", json!([call])), messages),
            }
            Ok(())
        }
        Some("function_call_output") => {
            let message = [
                ("role", "tool".into()),
                ("tool_call_id", take(&mut item, "call_id")),
                ("content", parts(take(&mut item, "output"))?),
            ];
            messages.push(message.map(|(key, value)| (key.to_owned(), value)).into_iter().collect());
            Ok(())
        }
        Some(other) => {
            let what = format!(
                "a prompt has no place for {other:?}; the types are message, reasoning, function_call and function_call_output"
            );
            Err(ErrorKind::Parse(what).with_way_out("remove the item"))
        }
    }
}

fn add_message(mut item: Object, messages: &mut Vec<Object>) -> Result<()> {
    let content = parts(take(&mut item, "content"))?;
    let is_answer = item.get("role").is_some_and(|role| role == "assistant");
    item.retain(|key, value| !(OF_ITEMS.contains(&key.as_str()) || is_answer && value.is_null()));
    if is_answer {
        item.insert("content".into(), joined(content, ""));
        say(item, messages);
    } else {
        item.insert("content".into(), content);
        messages.push(item);
    }
    Ok(())
}

/// Thoughts, or else their summary. Those that are encrypted say nothing to others.
fn add_thoughts(item: &mut Object, messages: &mut Vec<Object>) -> Result<()> {
    for (key, separator) in [("content", ""), ("summary", "\n\n")] {
        let thoughts = joined(parts(take(item, key))?, separator);
        if thoughts.as_str().is_some_and(|text| !text.is_empty()) {
            say(said("reasoning_content", thoughts), messages);
            break;
        }
    }
    Ok(())
}

/// A call as chats have it, whose arguments are an object, as templates write them, and not JSON in a text.
fn call(item: &mut Object) -> Result<Value> {
    let (id, name, arguments) = (take(item, "call_id"), take(item, "name"), take(item, "arguments"));
    if !name.is_string() || !arguments.is_string() {
        return Err(ErrorKind::Parse("the \"name\" and the \"arguments\" of a call must be texts".into()).into());
    }
    Ok(json!({"id": id, "type": "function", "function": {"name": name, "arguments": read_arguments(arguments)?}}))
}

fn take(item: &mut Object, key: &str) -> Value {
    item.get_mut(key).map(Value::take).unwrap_or_default()
}

/// The last message, if the model wrote it.
fn answer(messages: &mut [Object]) -> Option<&mut Object> {
    messages.last_mut().filter(|message| message.get("role").is_some_and(|role| role == "assistant"))
}

/// A message of the model with this key alone.
fn said(key: &str, value: Value) -> Object {
    [("role".to_owned(), "assistant".into()), (key.to_owned(), value)].into_iter().collect()
}

/// Adds a message of the model to its answer, or begins another one if that has such a part.
fn say(said: Object, messages: &mut Vec<Object>) {
    let has_part = |answer: &Object| said.keys().any(|key| key != "role" && answer.contains_key(key));
    match answer(messages).filter(|answer| !has_part(answer)) {
        Some(answer) => answer.extend(said),
        None => messages.push(said),
    }
}

/// A content whose parts have the types of chats.
fn parts(content: Value) -> Result<Value> {
    let Value::Array(parts) = content else { return Ok(content) };
    let parts = parts.into_iter().enumerate().map(|(i, part)| self::part(part).at(format_args!("part {i}")));
    Ok(Value::Array(parts.collect::<Result<_>>()?))
}

fn part(mut part: Value) -> Result<Value> {
    let text = |text: Value| json!({"type": "text", "text": text});
    Ok(match part["type"].as_str().unwrap_or_default() {
        "input_text" | "output_text" | "reasoning_text" | "summary_text" | "text" => text(part["text"].take()),
        "refusal" => text(part["refusal"].take()),
        "input_image" if part["image_url"].is_object() => {
            json!({"type": "image_url", "image_url": part["image_url"].take()})
        }
        "input_image" if part["image_url"].is_string() => {
            let mut image = json!({"url": part["image_url"].take()});
            if part["detail"].is_string() {
                image["detail"] = part["detail"].take();
            }
            json!({"type": "image_url", "image_url": image})
        }
        "input_image" | "input_file" => {
            return Err(ErrorKind::Parse("a prompt has no place for a file of the server".into())
                .with_way_out("give an image as \"image_url\", and the text of a file as \"input_text\""));
        }
        _ => part,
    })
}

/// Texts as one text; anything else as it is.
fn joined(content: Value, separator: &str) -> Value {
    let Value::Array(parts) = &content else { return content };
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part["text"].as_str()).collect();
    texts.map(|texts| texts.join(separator)).map_or(content, Value::String)
}
