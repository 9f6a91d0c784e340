//! Prompts with their answers, and preference data: of two answers the better or the worse one.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::common_prefix::common_prefix;
use crate::conversation::{ChatMessage, Conversation};
use crate::dataset::records::conversations::{alpaca, check_list, listed, messages, query_response, with_system};
use crate::dataset::records::parse_error::{parse_error, refused};
use crate::dataset::records::reads_for::ReadsFor;
use crate::dataset::records::tools::tools;
use crate::dataset::records::{Keys, Record};
use crate::error::{At, Result};

/// The better of two answers, or else the worse one, under the keys of any kind of preference data.
pub(super) fn one_of_two<'a>(keys: &Keys<'a>, takes_rejected: bool, reads_for: ReadsFor) -> Result<Record<'a>> {
    let pair = |chosen, rejected| if takes_rejected { [rejected, chosen] } else { [chosen, rejected] };
    let [own, other] = pair("chosen", "rejected");
    if keys.has(own) {
        return answered(keys, own, Some(other));
    }
    let [preferred, _] = pair("preferred_output", "non_preferred_output");
    if keys.has(preferred) {
        return preference(keys, preferred, reads_for);
    }
    let [own, other] = pair("chosen_messages", "rejected_messages");
    // The chosen answer may be that of the conversation itself.
    let has_rejected = keys.has("rejected_response") || !takes_rejected && keys.has("rejected_messages");
    match has_rejected && (takes_rejected || !keys.has(own)) {
        true => answered_twice(keys, takes_rejected),
        false => answered(keys, own, Some(other)),
    }
}

/// A prompt and its answer: two texts, or messages and the messages, the message or the text of their answer. Of a pair,
/// the other answer is known, too.
pub(super) fn answered<'a>(keys: &Keys<'_>, answer: &str, other: Option<&str>) -> Result<Record<'a>> {
    if let Some(record) = answered_by_one(keys, answer)? {
        return Ok(record);
    }
    let prompt: Option<Conversation> = keys.get("prompt")?;
    let answers = match one_message(keys, answer) {
        Some(message) => Some(message?),
        None => keys.get(answer)?,
    };
    let other = || other.map_or(Ok(None), |other| keys.get::<Conversation>(other));
    match (prompt, answers) {
        (Some(Conversation::Text(prompt)), Some(Conversation::Text(answer))) => {
            // The prompt may be in the better and the worse answer, too; in one of them, it is the answer's own.
            let is_in_other = |other| matches!(other, Some(Conversation::Text(other)) if other.starts_with(&prompt));
            let answer = match answer.strip_prefix(&prompt) {
                Some(rest) if is_in_other(other()?) => rest.to_owned(),
                _ => answer,
            };
            let record = with_system(Conversation::Text(prompt), keys)?;
            Ok(Record { completion: Some(answer), ..record })
        }
        // The whole conversation is in the answer, too.
        (Some(prompt), Some(Conversation::Messages(answers))) if is_whole(&prompt, &answers) => {
            let completion_messages = Some(answers.len() - messages_of_prompt(&prompt, &answers));
            Ok(Record { completion_messages, ..with_system(Conversation::Messages(answers), keys)? })
        }
        (Some(Conversation::Messages(prompt)), Some(Conversation::Messages(answers))) => {
            let completion_messages = Some(answers.len());
            let messages = Conversation::Messages([prompt, answers].concat());
            Ok(Record { completion_messages, ..with_system(messages, keys)? })
        }
        // An empty text is no answer.
        (Some(prompt @ Conversation::Messages(_)), Some(Conversation::Text(answer))) if answer.is_empty() => {
            with_system(prompt, keys)
        }
        (Some(Conversation::Messages(mut messages)), Some(Conversation::Text(answer))) => {
            messages.push(ChatMessage::new("assistant", answer));
            let messages = Conversation::Messages(messages);
            Ok(Record { completion_messages: Some(1), ..with_system(messages, keys)? })
        }
        (Some(prompt), None) => with_system(prompt, keys),
        (None, Some(answers)) => match with_question(answers, keys)? {
            Ok(record) => Ok(record),
            Err(answers) => without_prompt(answers, other()?, keys, answer),
        },
        _ => Err(refused(&format!(
            "\"prompt\" and {answer:?} must be two texts, or a list of messages that is not empty and its answer"
        ))),
    }
}

/// Turns, and one message that answers them, as in LLaMA-Factory's preference data; none if the answer is no message.
fn answered_by_one<'a>(keys: &Keys<'_>, answer: &str) -> Result<Option<Record<'a>>> {
    let key = ["conversations", "messages"].into_iter().find(|key| keys.has(key)).filter(|_| !keys.has("prompt"));
    let (Some(key), Some(answers)) = (key, one_message(keys, answer)) else { return Ok(None) };
    check_list(keys, key)?;
    let conversation = listed(keys, key)?.join(answers?)?;
    Ok(Some(Record { completion_messages: Some(1), ..with_system(conversation, keys)? }))
}

/// The one message under a key; none if there is anything else.
fn one_message(keys: &Keys<'_>, key: &str) -> Option<Result<Conversation>> {
    #[derive(Deserialize)]
    struct Message {
        from: Option<IgnoredAny>,
        role: Option<IgnoredAny>,
    }

    let raw = keys.raw(key).filter(|_| keys.begins(key, '{'))?;
    let Message { from, role } = serde_json::from_str(raw).ok()?;
    from.or(role)?;
    Some(serde_json::from_str(&format!("[{raw}]")).map_err(|error| parse_error(raw, raw, &error).at(key)))
}

/// A question under another key, and its answer, as in LLaMA-Factory's preference data; the answer itself if there is none.
fn with_question<'a>(answer: Conversation, keys: &Keys<'_>) -> Result<std::result::Result<Record<'a>, Conversation>> {
    let questions: [&[&str]; 4] = [&["instruction", "input"], &["query"], &["question"], &["input"]];
    let Some(columns) = questions.into_iter().find(|columns| keys.begins(columns[0], '"')) else {
        return Ok(Err(answer));
    };
    let answers = match answer {
        Conversation::Text(text) => vec![ChatMessage::new("assistant", text)],
        Conversation::Messages(answers) if answers.iter().all(|message| message.role == "assistant") => answers,
        answer => return Ok(Err(answer)),
    };
    let record = alpaca(keys, columns, "")?;
    let completion_messages = Some(answers.len());
    let conversation = record.conversation.join(Conversation::Messages(answers))?;
    Ok(Ok(Record { conversation, completion_messages, ..record }))
}

/// An answer without a key for its prompt, which is what both answers of the pair begin with, as in TRL's data.
fn without_prompt<'a>(
    answers: Conversation,
    other: Option<Conversation>,
    keys: &Keys<'_>,
    answer: &str,
) -> Result<Record<'a>> {
    match (answers, other) {
        (Conversation::Messages(answers), Some(Conversation::Messages(other))) => {
            let common = common_prefix(&answers, &other);
            if common > 0 {
                let completion_messages = Some(answers.len() - common);
                return Ok(Record { completion_messages, ..with_system(Conversation::Messages(answers), keys)? });
            }
        }
        (Conversation::Text(text), Some(Conversation::Text(other))) => {
            let common = text.char_indices().zip(other.chars()).take_while(|((_, one), other)| one == other);
            let end = common.last().map_or(0, |((at, c), _)| at + c.len_utf8());
            // A space belongs to the word behind it.
            let end = end - usize::from(text[..end].ends_with(' '));
            if end > 0 {
                let record = with_system(Conversation::Text(text[..end].to_owned()), keys)?;
                return Ok(Record { completion: Some(text[end..].to_owned()), ..record });
            }
        }
        // Conversations of their own.
        (Conversation::Messages(answers), None) if answers.iter().any(|message| message.role == "user") => {
            return with_system(Conversation::Messages(answers), keys);
        }
        _ => {}
    }
    let names = keys.names();
    let needed = "a record needs \"prompt\", or two answers that begin with it";
    let what = format!("{answer:?} has no prompt; {needed}. Its keys are {names}");
    Err(refused(&what))
}

/// A conversation with its answer, beside which is one that was rejected, as in ms-swift.
fn answered_twice<'a>(keys: &Keys<'a>, takes_rejected: bool) -> Result<Record<'a>> {
    let lacks = || refused("a rejected answer needs \"messages\" with a question, \"query\" or \"instruction\"");
    let mut record = match () {
        () if keys.has("messages") => messages(keys)?,
        () if keys.has("query") || keys.has("question") => query_response(keys)?,
        () if keys.has("instruction") => alpaca(keys, &["instruction", "input"], "output")?,
        () => return Err(lacks()),
    };
    let Conversation::Messages(messages) = &mut record.conversation else { return Err(lacks()) };
    let asked = messages.iter().rposition(|message| message.role == "user").ok_or_else(lacks)? + 1;
    if takes_rejected {
        messages.truncate(asked);
        match keys.get("rejected_response")? {
            Some(Conversation::Text(text)) => messages.push(ChatMessage::new("assistant", text)),
            Some(Conversation::Messages(rejected)) => messages.extend(rejected),
            _ => return Err(refused("\"rejected_response\" must be a text or a list of messages")),
        }
    }
    let completion_messages = Some(messages.len() - asked);
    Ok(Record { completion_messages, ..record })
}

/// A request and one of its two answers, as in OpenAI's files for preference fine-tuning.
fn preference<'a>(keys: &Keys<'a>, answer: &str, reads_for: ReadsFor) -> Result<Record<'a>> {
    let Some(input) = keys.inner("input")? else {
        return Err(refused("there is no \"input\", an object with \"messages\""));
    };
    let tools = tools(&input, reads_for).at("input")?;
    match (listed(&input, "messages").at("input")?, listed(keys, answer)?) {
        (Conversation::Messages(prompt), Conversation::Messages(answers)) => {
            let completion_messages = Some(answers.len());
            let messages = Conversation::Messages([prompt, answers].concat());
            Ok(Record { tools, completion_messages, ..Record::of(messages) })
        }
        _ => Err(refused(&format!("the \"messages\" of \"input\" and {answer:?} must be two lists of messages"))),
    }
}

/// How many of the messages that begin with a prompt are the prompt.
fn messages_of_prompt(prompt: &Conversation, answers: &[ChatMessage]) -> usize {
    match prompt {
        Conversation::Messages(prompt) => prompt.len(),
        _ => answers.iter().take_while(|message| message.role == "system").count() + 1,
    }
}

fn is_whole(prompt: &Conversation, answers: &[ChatMessage]) -> bool {
    let first = answers.iter().find(|message| message.role != "system");
    match prompt {
        Conversation::Text(prompt) => {
            first.is_some_and(|first| first.role == "user" && first.content == *prompt.as_str())
        }
        Conversation::Messages(prompt) => !prompt.is_empty() && answers.starts_with(prompt),
        Conversation::List(_) | Conversation::Chat(_) => false,
    }
}
