//! The formats in which conversations are written down, and how each is read.

use std::fmt;
use std::str::FromStr;

use crate::conversation::{ChatMessage, Conversation};
use crate::dataset::keys::Keys;
use crate::dataset::record::Record;
use crate::error::{At, Error, ErrorKind, Fault, Result, Setting, way_out};

/// How a record says its conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputFormat {
    /// Whichever of the others the record's keys tell.
    #[default]
    Auto,
    /// `messages` (or `conversation`, or `prompt`) lists OpenAI-style messages, or is a `PromptList`.
    Messages,
    /// `conversations` lists turns of `from` and `value`.
    Sharegpt,
    /// `instruction`, `input` and `output`, with `history` and `system`, joined as LLaMA-Factory does it.
    Alpaca,
    /// `prompt` and `completion`: texts that no template touches, or lists of messages.
    PromptCompletion,
    /// `text`, which no template touches.
    Text,
    /// `body` is a request to OpenAI's API, as batch files list them.
    OpenaiBatch,
    /// `data` lists what the user and the assistant say in turn.
    Ultrachat,
    /// `chosen` answers `prompt`, and `rejected` is left out.
    Chosen,
    /// `rejected` answers `prompt`, and `chosen` is left out.
    Rejected,
}

/// Each with its name, the one key that it must have, and what else it reads.
const FORMATS: [(InputFormat, &str, &[&str], &str); 10] = [
    (InputFormat::Auto, "auto", &[], ""),
    (InputFormat::Messages, "messages", &["messages", "conversation", "conversations", "prompt"], "\"messages\""),
    (InputFormat::Sharegpt, "sharegpt", &["conversations"], "\"conversations\""),
    (InputFormat::Alpaca, "alpaca", &["instruction"], "\"instruction\" (with \"input\" and \"output\")"),
    (InputFormat::PromptCompletion, "prompt-completion", &["prompt"], "\"prompt\" (with \"completion\")"),
    (InputFormat::Text, "text", &["text"], "\"text\""),
    (InputFormat::OpenaiBatch, "openai-batch", &["body"], "\"body\""),
    (InputFormat::Ultrachat, "ultrachat", &["data"], "\"data\""),
    (InputFormat::Chosen, "chosen", &["chosen"], "\"chosen\" (with \"prompt\")"),
    (InputFormat::Rejected, "rejected", &["rejected"], "\"rejected\" (with \"prompt\")"),
];

impl FromStr for InputFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = FORMATS.iter().find(|(_, known, ..)| *known == name);
        found.map(|(format, ..)| *format).ok_or_else(|| {
            let known = FORMATS.iter().map(|(_, name, ..)| *name).collect();
            ErrorKind::UnknownName { what: "format of input", name: name.to_owned(), known }.into()
        })
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = FORMATS.iter().find(|(format, ..)| format == self);
        f.write_str(found.map_or("auto", |(_, name, ..)| name))
    }
}

impl InputFormat {
    /// Whether a record may be a list or a string by itself.
    pub(crate) fn has_bare_values(self) -> bool {
        matches!(self, Self::Auto | Self::Messages | Self::Sharegpt | Self::Text)
    }

    /// Reads an object.
    pub(crate) fn read<'a>(self, keys: &Keys<'a>, for_server: bool) -> Result<Record<'a>> {
        let format = match self {
            Self::Auto => detected(keys)?,
            named => named.with_its_keys(keys)?,
        };
        let id = keys.id()?;
        let tools = tools(keys, for_server)?;
        let record = match format {
            Self::Messages | Self::Auto => messages(keys),
            Self::Sharegpt => with_system(listed(keys, "conversations")?, keys),
            Self::Alpaca => alpaca(keys),
            Self::PromptCompletion => answered(keys, "completion"),
            Self::Text => Ok(Record::of(Conversation::Text(keys.text("text")?))),
            Self::OpenaiBatch => request(keys, for_server),
            Self::Ultrachat => ultrachat(keys),
            Self::Chosen => answered(keys, "chosen"),
            Self::Rejected => answered(keys, "rejected"),
        }?;
        Ok(Record { id, tools: tools.or(record.tools), ..record })
    }

    /// The same, if the record has one of its keys.
    fn with_its_keys(self, keys: &Keys<'_>) -> Result<Self> {
        let Some((_, name, known, reads)) = FORMATS.iter().find(|(format, ..)| *format == self) else {
            return Ok(self);
        };
        match known.iter().any(|key| keys.has(key)) {
            true => Ok(self),
            false => {
                let what = format!("it reads {reads}; this record has {}", keys.names());
                Err(of_format(name, what))
            }
        }
    }
}

/// The format that a record's keys tell.
fn detected(keys: &Keys<'_>) -> Result<InputFormat> {
    let has = |all: &[&str]| all.iter().all(|key| keys.has(key));
    Ok(if keys.begins("body", '{') && (has(&["custom_id"]) || has(&["url"]) || has(&["method"])) {
        InputFormat::OpenaiBatch
    } else if has(&["messages"]) {
        no_other_prompt(keys)?;
        InputFormat::Messages
    } else if has(&["conversations"]) {
        InputFormat::Sharegpt
    } else if keys.begins("conversation", '[') {
        InputFormat::Messages
    } else if has(&["chosen", "rejected"]) {
        return Err(refused("there are two answers, \"chosen\" and \"rejected\"").with_way_out(way_out![
            "say which with ",
            Setting::INPUT_FORMAT.set_to("chosen"),
            " or ",
            Setting::INPUT_FORMAT.set_to("rejected")
        ]));
    } else if has(&["instruction"]) && (has(&["input"]) || has(&["output"])) {
        InputFormat::Alpaca
    } else if has(&["prompt", "completion"]) {
        InputFormat::PromptCompletion
    } else if has(&["prompt"]) && !keys.begins("prompt", '{') {
        InputFormat::Messages
    } else if keys.begins("data", '[') {
        InputFormat::Ultrachat
    } else if has(&["text"]) && !has(&["role"]) && !has(&["parent_id"]) {
        InputFormat::Text
    } else {
        return Err(nothing_fits(keys));
    })
}

/// Says what a record has, and what it might have.
fn nothing_fits(keys: &Keys<'_>) -> Error {
    let has = |all: &[&str]| all.iter().all(|key| keys.has(key));
    let names = keys.names();
    let way_out = if keys.begins("turns", '[') {
        way_out![
            "\"turns\" lists questions without answers, each asked with the answer before: make them rows, with ",
            Setting::DATASET,
            " and the inferencer MultiTurnGenInferencer (docs/turns.md)"
        ]
    } else if has(&["role", "content"]) || has(&["from", "value"]) || has(&["section"]) {
        "this is one message, and a record is a whole conversation: {\"messages\": [ … ]}".into()
    } else if has(&["parent_id"]) || has(&["role", "text"]) {
        "this is one message of a tree; list the messages of each way through it: {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}, …]}".into()
    } else {
        way_out![
            "a record has messages, conversations, instruction with output, prompt, text, or a request's body (docs/input.md); with ",
            Setting::DATASET,
            " it is a row of any columns"
        ]
    };
    refused(&format!("no conversation in it: it has {names}")).with_way_out(way_out)
}

/// OpenAI-style messages or a `PromptList`.
fn messages<'a>(keys: &Keys<'a>) -> Result<Record<'a>> {
    let key = ["messages", "conversation", "conversations", "prompt"].into_iter().find(|key| keys.has(key));
    let key = key.unwrap_or("messages");
    if key != "prompt" && keys.begins(key, '"') {
        let what = "is a string; a list of messages is expected, and a text that no template touches is \"prompt\" or \"text\"";
        return Err(refused(&format!("{key:?} {what}")));
    }
    let conversation = listed(keys, key)?;
    with_system(conversation, keys)
}

/// Refuses a prompt beside messages, unless it is what these begin with, as in data for preference training.
fn no_other_prompt(keys: &Keys<'_>) -> Result<()> {
    if !keys.has("prompt") || opens_with(&listed(keys, "messages")?, keys) {
        return Ok(());
    }
    Err(refused("there is both \"messages\" and \"prompt\"").with_way_out(way_out![
        "leave one out, or say ",
        Setting::INPUT_FORMAT.set_to("messages"),
        " or ",
        Setting::INPUT_FORMAT.set_to("prompt-completion")
    ]))
}

fn opens_with(messages: &Conversation, keys: &Keys<'_>) -> bool {
    let Ok(Some(prompt)) = keys.get::<Conversation>("prompt") else { return false };
    match (messages, prompt) {
        (Conversation::Messages(messages), Conversation::Text(prompt)) => {
            messages.iter().find(|message| message.role == "user").is_some_and(|message| message.content == *prompt)
        }
        (Conversation::Messages(messages), Conversation::Messages(prompt)) => messages.starts_with(&prompt),
        (one, other) => *one == other,
    }
}

fn listed(keys: &Keys<'_>, key: &str) -> Result<Conversation> {
    Ok(keys.get(key)?.unwrap_or_else(|| Conversation::Messages(Vec::new())))
}

/// Puts the system message that stands beside a conversation before it.
fn with_system<'a>(conversation: Conversation, keys: &Keys<'_>) -> Result<Record<'a>> {
    let Some(key) = ["system", "system_prompt"].into_iter().find(|key| !keys.is_empty(key)) else {
        return Ok(Record::of(conversation));
    };
    let system = keys.text(key)?;
    let place = |what: &str| refused(&format!("{key:?} stands beside {what}; put it in there, or leave it out"));
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
        Conversation::List(_) => Err(place("a prompt list")),
        Conversation::Text(_) => Err(place("a text that no template touches")),
    }
}

/// Alpaca's columns as LLaMA-Factory joins them: what is empty is no line of the question.
fn alpaca<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
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
    let lines = [keys.text("instruction")?, keys.text("input")?];
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let answer = keys.text("output")?;
    if lines.is_empty() && answer.is_empty() {
        return Err(ErrorKind::EmptyConversation.into());
    }
    exchange(lines.join("\n"), answer, &mut messages);
    with_system(Conversation::Messages(messages), keys)
}

/// A prompt and its answer: two texts, or two lists of messages.
fn answered<'a>(keys: &Keys<'_>, answer: &str) -> Result<Record<'a>> {
    let prompt: Option<Conversation> = keys.get("prompt")?;
    let answers: Option<Conversation> = keys.get(answer)?;
    match (prompt, answers) {
        (Some(Conversation::Text(prompt)), Some(Conversation::Text(answer))) => {
            let record = with_system(Conversation::Text(prompt), keys)?;
            Ok(Record { completion: Some(answer), ..record })
        }
        // The whole conversation stands in the answer, too.
        (Some(prompt), Some(Conversation::Messages(answers))) if is_whole(&prompt, &answers) => {
            with_system(Conversation::Messages(answers), keys)
        }
        (Some(Conversation::Messages(prompt)), Some(Conversation::Messages(answers))) => {
            with_system(Conversation::Messages([prompt, answers].concat()), keys)
        }
        (Some(one), None) | (None, Some(one)) => with_system(one, keys),
        _ => Err(refused(&format!("\"prompt\" and {answer:?} are two texts, or two lists of messages"))),
    }
}

fn is_whole(prompt: &Conversation, answers: &[ChatMessage]) -> bool {
    let first = answers.iter().find(|message| message.role != "system");
    match prompt {
        Conversation::Text(prompt) => {
            first.is_some_and(|first| first.role == "user" && first.content == *prompt.as_str())
        }
        Conversation::Messages(prompt) => !prompt.is_empty() && answers.starts_with(prompt),
        Conversation::List(_) => false,
    }
}

/// A request to `/v1/chat/completions` or `/v1/completions`.
fn request<'a>(keys: &Keys<'a>, for_server: bool) -> Result<Record<'a>> {
    let Some(body) = keys.inner("body")? else { return Err(refused("\"body\" is no object")) };
    let read = || {
        for key in ["chat_template", "chat_template_kwargs", "documents"] {
            if !body.is_empty(key) {
                return Err(layout_would_be_lost(key));
            }
        }
        let tools = tools(&body, for_server)?;
        if !body.has("messages") && !body.has("prompt") {
            let names = body.names();
            let what = format!("the request has neither \"messages\" nor \"prompt\", but {names}");
            return Err(refused(&what));
        }
        if body.has("messages") {
            no_other_prompt(&body)?;
        }
        Ok(Record { tools, ..messages(&body)? })
    };
    read().at("body")
}

/// Turns of the user and the assistant, without their roles.
fn ultrachat<'a>(keys: &Keys<'_>) -> Result<Record<'a>> {
    let turns: Vec<String> = keys.get("data")?.unwrap_or_default();
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages = roles.zip(turns).map(|(role, turn)| ChatMessage::new(role, turn)).collect();
    with_system(Conversation::Messages(messages), keys)
}

fn layout_would_be_lost(key: &'static str) -> Error {
    let why = "it tells a server how to lay the prompt out";
    ErrorKind::WouldBeLost { key, why }.with_way_out(way_out![
        "name the model as it should be with ",
        Setting::MODEL,
        ", and leave the key out"
    ])
}

pub(super) fn tools_would_be_lost() -> Error {
    let why = "a template has no place for descriptions of tools";
    ErrorKind::WouldBeLost { key: "tools", why }.with_way_out(way_out![
        "write them into the system message as the model knows them, leave the key out, or use ",
        Setting::FORMAT.set_to("messages"),
        ", which passes tools on"
    ])
}

fn functions_would_be_lost() -> Error {
    let why = "they are older than \"tools\", and a template has a place for neither";
    ErrorKind::WouldBeLost { key: "functions", why }
        .with_way_out("write them into the system message as the model knows them, or leave the key out")
}

/// The descriptions of tools. ShareGPT has them as JSON within a string.
fn tools(keys: &Keys<'_>, for_server: bool) -> Result<Option<String>> {
    if !keys.is_empty("functions") {
        return Err(functions_would_be_lost());
    }
    match keys.raw("tools").filter(|_| !keys.is_empty("tools")) {
        None => Ok(None),
        Some(_) if !for_server => Err(tools_would_be_lost()),
        Some(raw) if raw.starts_with('"') => {
            let tools = keys.text("tools")?;
            let parsed: serde_json::Value = serde_json::from_str(&tools)
                .map_err(|error| Error::from(ErrorKind::Parse(format!("no JSON: {error}"))).at("tools"))?;
            Ok(Some(parsed.to_string()))
        }
        // As the sink writes one line.
        Some(_) => Ok(keys.get::<serde_json::Value>("tools")?.map(|tools| tools.to_string())),
    }
}

/// What is wrong with a record of a format that was asked for. The record is wrong, not the option.
pub(super) fn of_format(name: &str, what: String) -> Error {
    Error::from(ErrorKind::Invalid(what)).at(Setting::INPUT_FORMAT.set_to(name.to_owned())).with_fault(Fault::Input)
}

fn refused(what: &str) -> Error {
    ErrorKind::Invalid(what.to_owned()).into()
}
