//! Roles of messages by the names that they have in the data of training frameworks: they become OpenAI's.
//!
//! Source: `MessagesPreprocessor.to_std_messages` in `swift/dataset/preprocessor/core.py` of ms-swift 4.6.0.

use serde_json::Value;

use crate::conversation::{ChatMessage, Content, ContentPart, Conversation, calls, says_nothing};
use crate::dataset::records::Record;
use crate::dataset::records::parse_error::refused;
use crate::error::{At, Place, Result};

/// What a role is to OpenAI.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    User,
    Assistant,
    /// The assistant, whose calls are JSON in the content.
    Call,
    Tool,
}

/// The names; a hyphen may take the place of the underscore.
const ROLES: [(&str, Is); 9] = [
    ("human", Is::User),
    ("gpt", Is::Assistant),
    ("bot", Is::Assistant),
    ("tool_call", Is::Call),
    ("function_call", Is::Call),
    ("tool_response", Is::Tool),
    ("function_response", Is::Tool),
    ("observation", Is::Tool),
    ("observations", Is::Tool),
];

/// Which of these names a template gives to roles of its own. They stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OwnRoles([bool; ROLES.len()]);

impl OwnRoles {
    pub(crate) fn of(is_own: impl Fn(&str) -> bool) -> Self {
        Self(ROLES.map(|(name, _)| is_own(name) || is_own(&name.replace('_', "-"))))
    }

    fn converted(&self, role: &str) -> Option<Is> {
        let is_same = |(a, b): (char, char)| a == b || (a, b) == ('_', '-');
        let is_named = |name: &str| name.len() == role.len() && name.chars().zip(role.chars()).all(is_same);
        let place = ROLES.iter().position(|(name, _)| is_named(name))?;
        (!self.0[place]).then_some(ROLES[place].1)
    }

    /// Gives the messages of a record OpenAI's roles. Calls are those of the answer before them, as they follow one another in one turn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for calls that are not JSON.
    pub(super) fn convert<'a>(&self, mut record: Record<'a>) -> Result<Record<'a>> {
        let messages = match &mut record.conversation {
            Conversation::Messages(messages) => messages,
            Conversation::Chat(chat) => &mut chat.messages,
            Conversation::Text(_) | Conversation::List(_) => return Ok(record),
        };
        if messages.iter().all(|message| self.converted(&message.role).is_none()) {
            return Ok(record);
        }
        let prompt = messages.len().saturating_sub(record.completion_messages.unwrap_or_default());
        let mut converted: Vec<ChatMessage> = Vec::with_capacity(messages.len());
        let mut start_of_completion = None;
        for (i, mut message) in std::mem::take(messages).into_iter().enumerate() {
            if i == prompt {
                start_of_completion = Some(converted.len());
            }
            match self.converted(&message.role) {
                None => {}
                Some(Is::User) => message.role = "user".into(),
                Some(Is::Assistant) => message.role = "assistant".into(),
                Some(Is::Tool) => message.role = "tool".into(),
                // What it says beside them stays in its content.
                Some(Is::Call) if has_calls(&message) => message.role = "assistant".into(),
                Some(Is::Call) => {
                    let call = with_calls(message).at(Place::Message(i))?;
                    match converted.last_mut().filter(|last| i != prompt && may_have(last, &call)) {
                        Some(last) => {
                            add_calls(last, call);
                            continue;
                        }
                        None => message = call,
                    }
                }
            }
            converted.push(message);
        }
        let completion = converted.len() - start_of_completion.unwrap_or(converted.len());
        record.completion_messages = record.completion_messages.map(|_| completion);
        *messages = converted;
        Ok(record)
    }
}

fn has_calls(message: &ChatMessage) -> bool {
    message.others.get("tool_calls").is_some_and(|calls| !says_nothing(calls))
}

/// The message of the assistant whose content has the calls.
fn with_calls(message: ChatMessage) -> Result<ChatMessage> {
    let ChatMessage { role, content, mut others } = message;
    let is_text = match &content {
        Content::Text(_) => true,
        Content::Parts(parts) => parts.iter().all(|part| matches!(part, ContentPart::Text(_))),
        Content::Null => false,
    };
    let text: String = content.texts().collect();
    let Some((thoughts, calls)) = calls(&text).filter(|_| is_text) else {
        let what = "must be JSON, a call or a list of calls: {\"name\": …, \"arguments\": …}; if it is text, its role is \"assistant\"";
        return Err(refused(&format!("the content of {role:?} {what}")));
    };
    others.insert("tool_calls".into(), calls);
    Ok(ChatMessage { role: "assistant".into(), content: thoughts.into(), others })
}

/// Whether a message is an answer to which a message of calls can be added: they do not say different things under a key.
fn may_have(message: &ChatMessage, call: &ChatMessage) -> bool {
    let differs = |key: &String, said: &Value| {
        let own = message.others.get(key).filter(|own| !says_nothing(own));
        key != "tool_calls" && !says_nothing(said) && own.is_some_and(|own| own != said)
    };
    message.role == "assistant" && !call.others.iter().any(|(key, said)| differs(key, said))
}

/// Adds what a message of calls says to the answer before it.
fn add_calls(answer: &mut ChatMessage, call: ChatMessage) {
    let ChatMessage { content, mut others, .. } = call;
    if !content.is_empty() {
        answer.content.append("", content);
    }
    let calls = others.shift_remove("tool_calls");
    answer.others.extend(others.into_iter().filter(|(_, said)| !says_nothing(said)));
    let Some(calls) = calls else { return };
    match (answer.others.get_mut("tool_calls").and_then(|own| own.as_array_mut()), calls) {
        (Some(own), Value::Array(mut calls)) => own.append(&mut calls),
        (_, calls) => {
            answer.others.insert("tool_calls".into(), calls);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(own: &[&str], messages: &str, completion: Option<usize>, expected: &str, left: Option<usize>) {
        let read = |messages| serde_json::from_str::<Conversation>(messages).expect("it is a conversation");
        let record = Record { completion_messages: completion, ..Record::of(read(messages)) };
        let record = OwnRoles::of(|role| own.contains(&role)).convert(record).expect("it can be converted");
        assert_eq!((record.conversation, record.completion_messages), (read(expected), left));
    }

    const CHAT: &str = r#"[{"role": "human", "content": "Hi"}, {"role": "gpt", "content": "I look."},
        {"role": "tool_call", "content": "{\"name\": \"f\", \"arguments\": {\"x\": 1}}", "loss": 1},
        {"role": "function-call", "content": "{\"name\": \"g\", \"arguments\": {}}"},
        {"role": "tool_response", "content": "2"}, {"role": "observations", "content": "3"}, {"role": "bot", "content": "5"}]"#;

    #[test]
    fn roles_become_those_of_openai() {
        let f = r#"{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}"#;
        let g = r#"{"type": "function", "function": {"name": "g", "arguments": {}}}"#;
        let end = r#"{"role": "tool", "content": "2"}, {"role": "tool", "content": "3"}, {"role": "assistant", "content": "5"}]"#;
        let start = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I look.""#;
        let expected = format!(r#"{start}, "loss": 1, "tool_calls": [{f}, {g}]}}, {end}"#);
        check(&[], CHAT, None, &expected, None);
        check(&[], CHAT, Some(0), &expected, Some(0));
        check(&[], CHAT, Some(6), &expected, Some(4));
        // What is scored and what is not stay apart.
        let apart =
            format!(r#"{start}}}, {{"role": "assistant", "content": "", "loss": 1, "tool_calls": [{f}, {g}]}}, {end}"#);
        check(&[], CHAT, Some(5), &apart, Some(4));
    }

    #[test]
    fn calls_may_be_beside_the_content_or_in_its_parts() {
        let g = r#"{"type": "function", "function": {"name": "g", "arguments": {}}}"#;
        let start = r#"[{"role": "user", "content": "Hi"}"#;
        let beside = |role| format!(r#"{start}, {{"role": "{role}", "content": "{{}}", "tool_calls": [{g}]}}]"#);
        check(&[], &beside("tool_call"), None, &beside("assistant"), None);
        let parts =
            r#"[{"type": "text", "text": "{\"name\": \"g\","}, {"type": "text", "text": "\"arguments\": {}}"}]"#;
        let parts = format!(r#"{start}, {{"role": "tool_call", "content": {parts}, "tool_calls": null}}]"#);
        let expected = format!(r#"{start}, {{"role": "assistant", "content": "", "tool_calls": [{g}]}}]"#);
        check(&[], &parts, None, &expected, None);
    }

    #[test]
    fn what_two_messages_have_stays_in_two() {
        let g = r#"{"type": "function", "function": {"name": "g", "arguments": {}}}"#;
        let start = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I look."#;
        let call =
            r#"{"role": "tool_call", "content": "{\"name\": \"g\", \"arguments\": {}}", "reasoning_content": "why"}]"#;
        let whole = format!(r#"{start}", "reasoning_content": "why", "tool_calls": [{g}]}}]"#);
        check(&[], &format!(r#"{start}"}}, {call}"#), None, &whole, None);
        let called = r#"{"role": "assistant", "content": "", "reasoning_content": "why", "tool_calls":"#;
        let null = format!(r#"{start}", "reasoning_content": null}}, {call}"#);
        check(&[], &null, None, &whole, None);
        let apart = format!(r#"{start}", "reasoning_content": "now"}}, {called} [{g}]}}]"#);
        check(&[], &format!(r#"{start}", "reasoning_content": "now"}}, {call}"#), None, &apart, None);
    }

    #[test]
    fn the_templates_own_roles_stay() {
        let own: Vec<&str> = ROLES.iter().map(|(name, _)| *name).collect();
        check(&own, CHAT, Some(5), CHAT, Some(5));
    }

    #[test]
    fn calls_that_are_none_are_errors() {
        let messages = r#"[{"role": "user", "content": "Hi"}, {"role": "tool_call", "content": "f(1)"}]"#;
        let record = Record::of(serde_json::from_str(messages).expect("it is a conversation"));
        let error = OwnRoles::default().convert(record).expect_err("it is not JSON");
        assert!(error.to_string().starts_with("message 1: the content of \"tool_call\" must be JSON"), "{error}");
    }
}
