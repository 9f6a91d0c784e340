//! How each format of conversations is read.

use serde_json::Value;

use crate::conversation::{
    Chat, Conversation, Item, MediaKind, REASONING_EFFORT, check_end, check_variables, count_marks,
    has_part_without_source, is_object_of_python, sources_of_one,
};
use crate::dataset::MaxOutLen;
use crate::dataset::records::answered::{answered, one_of_two};
use crate::dataset::records::conversations::{
    alpaca, check_list, listed, listed_as_server, messages, messages_by, query_response, ultrachat, with_system,
};
use crate::dataset::records::input_format::detected;
use crate::dataset::records::parse_error::{layout_would_be_lost, refused, variables_would_be_lost};
use crate::dataset::records::reads_for::ReadsFor;
use crate::dataset::records::response_request::{is_for_responses, response_request};
use crate::dataset::records::sampling_keys::sampling_keys;
use crate::dataset::records::tools::tools;
use crate::dataset::records::{InputFormat, Keys, Record};
use crate::error::{At, Result, Setting, way_out};

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
        InputFormat::Chosen => one_of_two(keys, false, reads_for),
        InputFormat::Rejected => one_of_two(keys, true, reads_for),
    }?;
    if lists_messages(format, keys) && record.conversation.messages().is_some() {
        check_variables_are_read(keys, reads_for)?;
    }
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
    let is_list = keys.begins(kind.name(), '[');
    let of_one = sources_of_one(kind, one);
    if !keys.is_empty(kind.list_key()) {
        if !keys.is_empty(kind.name()) && !of_one.is_empty() && !is_list {
            return Err(refused(&format!("the record has both {:?} and {:?}", kind.name(), kind.list_key()))
                .with_way_out("list all sources in one of them"));
        }
        let sources: Vec<Value> = keys.get(kind.list_key())?.unwrap_or_default();
        return conversation.give_sources(kind, kind.list_key(), &sources);
    }
    // One source, as in LLaVA's data. Beside other things than chats, or as another object, it may be anything.
    let is_needed = || match of_one.first() {
        Some(one) if is_object_of_python(one) && !is_list => {
            let messages = conversation.messages().unwrap_or_default();
            has_part_without_source(messages, kind) || count_marks(messages, kind) > 0
        }
        one => one.is_some(),
    };
    match is_needed() && !conversation.has_source(kind) {
        true => conversation.give_sources(kind, kind.name(), &of_one),
        false => Ok(()),
    }
}

/// Whether a record lists messages. Beside columns of texts, a column may have any name.
fn lists_messages(format: InputFormat, keys: &Keys<'_>) -> bool {
    match format {
        InputFormat::Alpaca | InputFormat::QueryResponse | InputFormat::Ultrachat => false,
        InputFormat::Responses => true,
        _ => keys.has_list_of_messages(),
    }
}

/// Rejects what only chat templates read where there is none.
fn check_variables_are_read(keys: &Keys<'_>, reads_for: ReadsFor) -> Result<()> {
    let mut given = ["chat_template_kwargs", "documents"].into_iter().filter(|key| !keys.is_empty(key));
    match given.next() {
        Some(key) if reads_for != ReadsFor::ChatTemplate => Err(variables_would_be_lost(key, reads_for)),
        _ => Ok(()),
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

/// A request to `/v1/chat/completions`, `/v1/completions` or `/v1/responses`.
fn request<'a>(keys: &Keys<'a>, reads_for: ReadsFor) -> Result<Record<'a>> {
    let Some(body) = keys.inner("body")? else { return Err(refused("\"body\" is not an object")) };
    let read = || {
        if !body.is_empty("chat_template") {
            return Err(layout_would_be_lost());
        }
        check_variables_are_read(&body, reads_for)?;
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

/// The record of a completion request, if it has one prompt: a list of strings, which would be one prompt list elsewhere,
/// lists prompts here.
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
