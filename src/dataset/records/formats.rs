//! How each format of conversations is read.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::conversation::{
    Chat, ChatMessage, Conversation, Item, MediaKind, REASONING_EFFORT, ServerMessages, check_end, check_variables,
    source_of,
};
use crate::dataset::MaxOutLen;
use crate::dataset::records::input_format::detected;
use crate::dataset::records::parse_error::{layout_would_be_lost, parse_error, refused, variables_would_be_lost};
use crate::dataset::records::reads_for::ReadsFor;
use crate::dataset::records::response_request::{is_for_responses, response_request};
use crate::dataset::records::sampling_keys::sampling_keys;
use crate::dataset::records::tools::tools;
use crate::dataset::records::{InputFormat, Keys, Record};
use crate::error::{At, ErrorKind, Result, Setting, way_out};

/// Reads an object of a format.
pub(super) fn read<'a>(format: InputFormat, keys: &Keys<'a>, reads_for: ReadsFor) -> Result<Record<'a>> {
    let named = format;
    let format = match named {
        InputFormat::Auto => detected(keys)?,
        named => named.with_its_keys(keys)?,
    };
    if named == InputFormat::Auto && format == InputFormat::Messages && keys.has("messages") {
        no_other_prompt(keys)?;
    }
    let id = keys.id()?;
    check_end(|key| keys.raw(key))?;
    if reads_for == ReadsFor::Template && keys.has("messages") && !keys.is_empty("chat_template_kwargs") {
        return Err(variables_would_be_lost());
    }
    let tools = if format == InputFormat::Responses { None } else { tools(keys, reads_for)? };
    let record = match format {
        InputFormat::Messages | InputFormat::Auto => messages(keys),
        InputFormat::Sharegpt => {
            check_list(keys, "conversations")?;
            with_system(listed(keys, "conversations")?, keys)
        }
        InputFormat::Alpaca if keys.has("output") => alpaca(keys, &["instruction", "input"], "output"),
        InputFormat::Alpaca => alpaca(keys, &["instruction", "input"], "response"),
        InputFormat::QueryResponse => query_response(keys),
        InputFormat::PromptCompletion if !keys.has("completion") => answered(keys, "response", None),
        InputFormat::PromptCompletion => answered(keys, "completion", None),
        InputFormat::Text => Ok(Record::of(Conversation::Text(keys.text("text")?))),
        InputFormat::OpenaiBatch => request(keys, reads_for),
        InputFormat::Responses => response_request(keys, reads_for),
        InputFormat::Ultrachat => ultrachat(keys),
        InputFormat::Chosen if keys.has("preferred_output") && !keys.has("chosen") => {
            preference(keys, "preferred_output", reads_for)
        }
        InputFormat::Rejected if keys.has("non_preferred_output") && !keys.has("rejected") => {
            preference(keys, "non_preferred_output", reads_for)
        }
        InputFormat::Chosen if is_answered_twice(keys) => answered_twice(keys, false),
        InputFormat::Rejected if keys.has("rejected_response") && !keys.has("rejected") => answered_twice(keys, true),
        InputFormat::Chosen if !keys.has("chosen") => answered(keys, "chosen_messages", Some("rejected_messages")),
        InputFormat::Rejected if !keys.has("rejected") => answered(keys, "rejected_messages", Some("chosen_messages")),
        InputFormat::Chosen => answered(keys, "chosen", Some("rejected")),
        InputFormat::Rejected => answered(keys, "rejected", Some("chosen")),
    }?;
    let max_out_len = keys.raw("max_out_len").map_or(Ok(None), MaxOutLen::of_json)?;
    let mut record = Record { id, max_out_len, tools: tools.or(record.tools), ..record };
    let is_chat = matches!(
        format,
        InputFormat::Messages | InputFormat::Sharegpt | InputFormat::Alpaca | InputFormat::QueryResponse
    );
    for kind in MediaKind::ALL {
        give_sources(&mut record.conversation, kind, keys, is_chat)?;
    }
    if reads_for == ReadsFor::ChatTemplate { with_variables(record, keys) } else { Ok(record) }
}

/// Gives the media of a kind their sources, which are listed beside the messages.
fn give_sources(conversation: &mut Conversation, kind: MediaKind, keys: &Keys<'_>, is_chat: bool) -> Result<()> {
    let one = keys.raw(kind.name()).filter(|_| is_chat).and_then(|raw| serde_json::from_str(raw).ok());
    if let Some(Value::Object(object)) = &one
        && object.get("bytes").is_some_and(|bytes| !bytes.is_null())
    {
        let what = format!("{:?} must be a path or a URL, but has bytes", kind.name());
        return Err(ErrorKind::Conversation(what).into());
    }
    if !keys.is_empty(kind.list_key()) {
        if !keys.is_empty(kind.name()) && one.as_ref().is_some_and(|one| source_of(one).is_some()) {
            return Err(refused(&format!("the record has both {:?} and {:?}", kind.name(), kind.list_key()))
                .with_way_out("list all sources in one of them"));
        }
        let sources: Vec<Value> = keys.get(kind.list_key())?.unwrap_or_default();
        return conversation.give_sources(kind, kind.list_key(), &sources);
    }
    // One source, as in LLaVA's data. Beside other things than chats, or as another object, it may be anything.
    let sources = match one {
        Some(Value::Array(sources)) => sources,
        Some(source) if source != "" && source_of(&source).is_some() => vec![source],
        _ => Vec::new(),
    };
    match sources.is_empty() || conversation.has_source(kind) {
        true => Ok(()),
        false => conversation.give_sources(kind, kind.name(), &sources),
    }
}

/// Puts what only chat templates read beside the messages.
fn with_variables<'a>(record: Record<'a>, keys: &Keys<'_>) -> Result<Record<'a>> {
    let Conversation::Messages(messages) = record.conversation else { return Ok(record) };
    let body = if keys.has("body") { keys.inner("body")? } else { None };
    let keys = body.as_ref().unwrap_or(keys);
    let mut chat = Chat::from(messages);
    if let Some(tools) = &record.tools {
        chat.tools =
            serde_json::from_str(tools).map_err(|error| refused(&format!("\"tools\" is not JSON: {error}")))?;
    }
    chat.documents = keys.get("documents")?;
    chat.chat_template_kwargs = keys.get("chat_template_kwargs")?.unwrap_or_default();
    if body.is_some()
        && keys.has("messages")
        && let Some(effort) = keys.other(REASONING_EFFORT)
    {
        chat.add_reasoning_effort(effort);
    }
    check_variables(&chat.chat_template_kwargs).at("chat_template_kwargs")?;
    Ok(Record { conversation: chat.into(), tools: None, ..record })
}

/// OpenAI-style messages or a `PromptList`.
fn messages<'a>(keys: &Keys<'a>) -> Result<Record<'a>> {
    messages_by(keys, listed)
}

/// The same with a way to read the list.
fn messages_by<'a>(keys: &Keys<'a>, listed: fn(&Keys<'_>, &str) -> Result<Conversation>) -> Result<Record<'a>> {
    let key = ["messages", "conversation", "conversations", "prompt"].into_iter().find(|key| keys.has(key));
    let key = key.unwrap_or("messages");
    if key != "prompt" {
        check_list(keys, key)?;
    }
    let conversation = listed(keys, key)?;
    with_system(conversation, keys)
}

/// Rejects a string or an object where messages must be listed, and a list of strings, which has no roles.
fn check_list(keys: &Keys<'_>, key: &str) -> Result<()> {
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

/// Rejects a prompt next to messages, unless the messages begin with it, as in data for preference training.
fn no_other_prompt(keys: &Keys<'_>) -> Result<()> {
    if !keys.has("prompt") || opens_with(&listed(keys, "messages")?, keys) {
        return Ok(());
    }
    Err(refused("the record has both \"messages\" and \"prompt\"").with_way_out(way_out![
        "remove one, or use ",
        Setting::INPUT_FORMAT.set_to("messages"),
        " or ",
        Setting::INPUT_FORMAT.set_to("prompt-completion")
    ]))
}

fn opens_with(messages: &Conversation, keys: &Keys<'_>) -> bool {
    let Ok(Some(prompt)) = keys.get::<Conversation>("prompt") else { return false };
    match (messages, prompt) {
        (Conversation::Messages(messages), Conversation::Text(prompt)) => {
            let asked = messages.iter().find(|message| message.role == "user");
            messages.first().into_iter().chain(asked).any(|message| message.content == *prompt)
        }
        (Conversation::Messages(messages), Conversation::Messages(prompt)) => messages.starts_with(&prompt),
        (one, other) => *one == other,
    }
}

fn listed(keys: &Keys<'_>, key: &str) -> Result<Conversation> {
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

/// The same as servers read it.
fn listed_as_server(keys: &Keys<'_>, key: &str) -> Result<Conversation> {
    match keys.begins(key, '[') {
        true => Ok(keys.get::<ServerMessages>(key)?.map_or_else(|| Conversation::Messages(Vec::new()), |list| list.0)),
        false => listed(keys, key),
    }
}

/// Puts the system message of a record before its conversation.
fn with_system<'a>(conversation: Conversation, keys: &Keys<'_>) -> Result<Record<'a>> {
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

/// A question and its answer, as in ms-swift and OpenOrca.
fn query_response<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
    let question = if keys.has("query") { "query" } else { "question" };
    alpaca(keys, &[question], "response")
}

/// The columns of a question, joined like LLaMA-Factory: empty ones add no line to it. And that of its answer.
fn alpaca<'a>(keys: &Keys<'_>, question: &[&str], answer: &str) -> Result<Record<'a>> {
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

/// A prompt and its answer: two texts, or two lists of messages. Of a pair, the other answer is known, too.
fn answered<'a>(keys: &Keys<'_>, answer: &str, other: Option<&str>) -> Result<Record<'a>> {
    if let Some(record) = answered_by_one(keys, answer)? {
        return Ok(record);
    }
    let prompt: Option<Conversation> = keys.get("prompt")?;
    let answers: Option<Conversation> = keys.get(answer)?;
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
        (Some(prompt), None) => with_system(prompt, keys),
        (None, Some(answers)) => match with_question(answers, keys)? {
            Ok(record) => Ok(record),
            Err(answers) => without_prompt(answers, other()?, keys, answer),
        },
        _ => Err(refused(&format!("\"prompt\" and {answer:?} must be two texts or two lists of messages"))),
    }
}

/// Turns, and one message that answers them, as in LLaMA-Factory's preference data; none if the answer is no message.
fn answered_by_one<'a>(keys: &Keys<'_>, answer: &str) -> Result<Option<Record<'a>>> {
    #[derive(Deserialize)]
    struct Message {
        from: Option<IgnoredAny>,
        role: Option<IgnoredAny>,
    }

    let Some(raw) = keys.raw(answer).filter(|_| keys.begins(answer, '{')) else { return Ok(None) };
    let key = ["conversations", "messages"].into_iter().find(|key| keys.has(key)).filter(|_| !keys.has("prompt"));
    match (key, serde_json::from_str(raw)) {
        (Some(key), Ok(Message { from, role })) if from.or(role).is_some() => {
            let answers: Conversation =
                serde_json::from_str(&format!("[{raw}]")).map_err(|error| parse_error(raw, raw, &error).at(answer))?;
            check_list(keys, key)?;
            let conversation = listed(keys, key)?.join(answers)?;
            Ok(Some(Record { completion_messages: Some(1), ..with_system(conversation, keys)? }))
        }
        _ => Ok(None),
    }
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
            let common = answers.iter().zip(&other).take_while(|(one, other)| one == other).count();
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

/// Whether the chosen answer of a record is that of its own conversation.
fn is_answered_twice(keys: &Keys<'_>) -> bool {
    let has_rejected = keys.has("rejected_response") || keys.has("rejected_messages");
    has_rejected && !keys.has("chosen") && !keys.has("chosen_messages")
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

/// A request to `/v1/chat/completions`, `/v1/completions` or `/v1/responses`.
fn request<'a>(keys: &Keys<'a>, reads_for: ReadsFor) -> Result<Record<'a>> {
    let Some(body) = keys.inner("body")? else { return Err(refused("\"body\" is not an object")) };
    let read = || {
        let lost: &[&'static str] = match reads_for {
            ReadsFor::ChatTemplate => &["chat_template"],
            ReadsFor::Template | ReadsFor::Server => &["chat_template", "chat_template_kwargs", "documents"],
        };
        for &key in lost {
            if !body.is_empty(key) {
                return Err(layout_would_be_lost(key));
            }
        }
        check_end(|key| body.raw(key))?;
        if !body.has("messages") && body.has("input") && is_for_responses(keys)? {
            return response_request(&body, reads_for);
        }
        let tools = tools(&body, reads_for)?;
        if !body.has("messages") && !body.has("prompt") {
            let names = body.names();
            let what = format!("the request has neither \"messages\" nor \"prompt\", but {names}");
            return Err(refused(&what));
        }
        if body.has("messages") {
            no_other_prompt(&body)?;
        }
        let is_completion_request = !body.has("messages");
        let record = match reads_for {
            ReadsFor::ChatTemplate => {
                let mut record = messages_by(&body, listed_as_server)?;
                record.conversation.read_as_server()?;
                record
            }
            ReadsFor::Template | ReadsFor::Server => messages(&body)?,
        };
        let record = if is_completion_request { with_one_prompt(record)? } else { record };
        let is_for_template = reads_for == ReadsFor::ChatTemplate && !is_completion_request;
        let sampling_keys = sampling_keys(&body, if is_for_template { &[] } else { &[REASONING_EFFORT] });
        Ok(Record { tools, is_completion_request, sampling_keys, ..record })
    };
    read().at("body")
}

/// The same, if its prompt is one: a list of strings, which would be one prompt list elsewhere, lists prompts here.
fn with_one_prompt(mut record: Record<'_>) -> Result<Record<'_>> {
    let Conversation::List(items) = &mut record.conversation else { return Ok(record) };
    match &mut items[..] {
        [Item::Text(prompt)] => {
            record.conversation = Conversation::Text(std::mem::take(prompt));
            Ok(record)
        }
        [Item::Text(_), rest @ ..] if rest.iter().all(|item| matches!(item, Item::Text(_))) => {
            let what = format!("\"prompt\" lists {} strings, and each is a prompt of its own", items.len());
            Err(refused(&what).with_way_out("write a request for each, with its own \"custom_id\""))
        }
        _ => Ok(record),
    }
}

/// Turns of the user and the assistant, without their roles.
fn ultrachat<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
    let turns: Vec<String> = keys.get("data")?.unwrap_or_default();
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages = roles.zip(turns).map(|(role, turn)| ChatMessage::new(role, turn)).collect();
    with_system(Conversation::Messages(messages), keys)
}
