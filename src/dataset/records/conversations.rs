//! The conversations of records: lists of messages or turns, and columns of questions and answers.

use serde::Deserialize;

use crate::conversation::{ChatMessage, Conversation, ServerMessages};
use crate::dataset::records::parse_error::refused;
use crate::dataset::records::{Keys, Record};
use crate::error::{ErrorKind, Result, Setting, way_out};

/// OpenAI-style messages or a `PromptList`.
pub(super) fn messages<'a>(keys: &Keys<'a>) -> Result<Record<'a>> {
    messages_by(keys, listed)
}

/// OpenAI-style messages or a `PromptList`, whose list this function reads.
pub(super) fn messages_by<'a>(
    keys: &Keys<'a>,
    listed: fn(&Keys<'_>, &str) -> Result<Conversation>,
) -> Result<Record<'a>> {
    let key = ["messages", "conversation", "conversations", "prompt"].into_iter().find(|key| keys.has(key));
    let key = key.unwrap_or("messages");
    if key != "prompt" {
        check_list(keys, key)?;
    }
    let conversation = listed(keys, key)?;
    with_system(conversation, keys)
}

/// Rejects a string or an object where messages must be listed, and a list of strings, which has no roles.
pub(super) fn check_list(keys: &Keys<'_>, key: &str) -> Result<()> {
    if let Some(Ok(strings)) = keys.raw(key).map(serde_json::from_str::<Vec<String>>)
        && !strings.is_empty()
    {
        return Err(refused(&format!("{key:?} is a list of strings, but must be a list of messages")).with_way_out(
            way_out![
                "write {\"role\": \"user\", \"content\": \"…\"}; for turns without roles, name the list \"data\" and use ",
                Setting::INPUT_FORMAT.set_to("ultrachat")
            ],
        ));
    }
    let Some(raw) = keys.raw(key).filter(|raw| raw.starts_with(['"', '{'])) else { return Ok(()) };
    let found = if raw.starts_with('{') { "an object" } else { "a string" };
    let error = refused(&format!("{key:?} is {found}, but must be a list of messages"));
    Err(if raw.starts_with("\"[") {
        error.with_way_out(
            "write the list itself, not as a string; a column of CSV or TSV cannot hold one, but JSON lines and Parquet can",
        )
    } else if raw.starts_with('"') {
        error.with_way_out("for text without a template use \"prompt\" or \"text\"")
    } else {
        error
    })
}

pub(super) fn listed(keys: &Keys<'_>, key: &str) -> Result<Conversation> {
    match keys.get(key) {
        Ok(listed) => Ok(listed.unwrap_or_else(|| Conversation::Messages(Vec::new()))),
        Err(error) => exchanges(keys, key).ok_or(error),
    }
}

/// A list of `{"human": "…", "assistant": "…"}`, as in ms-swift. The last question may have no answer.
fn exchanges(keys: &Keys<'_>, key: &str) -> Option<Conversation> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Exchange {
        #[serde(alias = "user")]
        human: String,
        #[serde(alias = "gpt", alias = "bot")]
        assistant: Option<String>,
    }

    let exchanges: Vec<Exchange> = serde_json::from_str(keys.raw(key)?).ok()?;
    let last = exchanges.len().checked_sub(1)?;
    let mut messages = Vec::new();
    for (at, Exchange { human, assistant }) in exchanges.into_iter().enumerate() {
        messages.push(ChatMessage::new("user", human));
        match assistant {
            Some(answer) => messages.push(ChatMessage::new("assistant", answer)),
            None if at == last => {}
            None => return None,
        }
    }
    Some(Conversation::Messages(messages))
}

/// A list of messages as servers read it.
pub(super) fn listed_as_server(keys: &Keys<'_>, key: &str) -> Result<Conversation> {
    match keys.begins(key, '[') {
        true => Ok(keys.get::<ServerMessages>(key)?.map_or_else(|| Conversation::Messages(Vec::new()), |list| list.0)),
        false => listed(keys, key),
    }
}

/// Puts the system message of a record before its conversation.
pub(super) fn with_system<'a>(conversation: Conversation, keys: &Keys<'_>) -> Result<Record<'a>> {
    let Some(key) = ["system", "system_prompt"].into_iter().find(|key| !keys.is_empty(key)) else {
        return Ok(Record::of(conversation));
    };
    let system = keys.text(key)?;
    let place = |what: &str| {
        refused(&format!("{key:?} cannot be combined with {what}; put it in the conversation, or remove it"))
    };
    match conversation {
        Conversation::Messages(messages) => match messages.first() {
            Some(first) if first.role == "system" && first.content == *system => {
                Ok(Record::of(Conversation::Messages(messages)))
            }
            Some(first) if first.role == "system" => Err(place("a conversation that has another system message")),
            _ => {
                let system = ChatMessage::new("system", system);
                Ok(Record::of(Conversation::Messages([vec![system], messages].concat())))
            }
        },
        Conversation::List(items) if items.is_empty() => Ok(Record::of(Conversation::List(items))),
        Conversation::List(_) | Conversation::Chat(_) => Err(place("a prompt list")),
        Conversation::Text(_) => Err(place("a text without a template")),
    }
}

/// The columns of a question, joined like LLaMA-Factory: empty ones add no line to it. And that of its answer.
pub(super) fn alpaca<'a>(keys: &Keys<'_>, question: &[&str], answer: &str) -> Result<Record<'a>> {
    let mut messages = Vec::new();
    let exchange = |question: String, answer: String, messages: &mut Vec<ChatMessage>| {
        messages.push(ChatMessage::new("user", question));
        if !answer.is_empty() {
            messages.push(ChatMessage::new("assistant", answer));
        }
    };
    for (question, answer) in keys.get::<Vec<(String, String)>>("history")?.unwrap_or_default() {
        exchange(question, answer, &mut messages);
    }
    let mut lines = question.iter().map(|key| keys.text(key)).collect::<Result<Vec<_>>>()?;
    lines.retain(|line| !line.is_empty());
    let answer = keys.text(answer)?;
    if lines.is_empty() && answer.is_empty() {
        return Err(ErrorKind::EmptyConversation.into());
    }
    exchange(lines.join("\n"), answer, &mut messages);
    with_system(Conversation::Messages(messages), keys)
}

/// A question and its answer, as in ms-swift and OpenOrca.
pub(super) fn query_response<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
    let question = if keys.has("query") { "query" } else { "question" };
    alpaca(keys, &[question], "response")
}

/// Turns of the user and the assistant, without their roles.
pub(super) fn ultrachat<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
    let turns: Vec<String> = keys.get("data")?.unwrap_or_default();
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages = roles.zip(turns).map(|(role, turn)| ChatMessage::new(role, turn)).collect();
    with_system(Conversation::Messages(messages), keys)
}
