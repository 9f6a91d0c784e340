//! The formats of conversations: their names, and the keys by which each is known.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::conversation::Conversation;
use crate::dataset::records::keys::{Keys, begins_with_object};
use crate::dataset::records::parse_error::{of_format, refused};
use crate::error::{Error, Result, Setting, by_name, way_out};

/// How a record contains its conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputFormat {
    /// The format is detected from the record's keys.
    #[default]
    Auto,
    /// `messages` (or `conversation`, or `prompt`) lists OpenAI-style messages, or is a `PromptList`.
    Messages,
    /// `conversations` lists turns of `from` and `value`.
    Sharegpt,
    /// `instruction`, `input` and `output` (or `response`), with `history` and `system`, joined like LLaMA-Factory.
    Alpaca,
    /// `query` (or `question`) and `response`, with `history` and `system`, as in ms-swift and OpenOrca.
    QueryResponse,
    /// `prompt` and `completion`: texts to which no template is applied, or lists of messages.
    PromptCompletion,
    /// `text`, to which no template is applied.
    Text,
    /// `body` is a request to OpenAI's API, as batch files list them.
    OpenaiBatch,
    /// `input` and `instructions`, as in a request to OpenAI's `/v1/responses`.
    Responses,
    /// `data` lists what the user and the assistant say in turn.
    Ultrachat,
    /// `chosen` answers `prompt`, and `rejected` is left out; or OpenAI's `preferred_output` answers `input`; or
    /// LLaMA-Factory's `chosen_messages`.
    Chosen,
    /// `rejected` answers `prompt`, and `chosen` is left out; or OpenAI's `non_preferred_output` answers `input`; or
    /// LLaMA-Factory's `rejected_messages`; or ms-swift's `rejected_response` in place of the last answer of `messages`.
    Rejected,
}

/// Each with its name, the one key that it must have, and what else it reads.
const FORMATS: &[(InputFormat, &str, &[&str], &str)] = &[
    (InputFormat::Auto, "auto", &[], ""),
    (InputFormat::Messages, "messages", &["messages", "conversation", "conversations", "prompt"], "\"messages\""),
    (InputFormat::Sharegpt, "sharegpt", &["conversations"], "\"conversations\""),
    (InputFormat::Alpaca, "alpaca", &["instruction"], "\"instruction\" (with \"input\" and \"output\")"),
    (
        InputFormat::QueryResponse,
        "query-response",
        &["query", "question"],
        "\"query\" or \"question\" (with \"response\")",
    ),
    (InputFormat::PromptCompletion, "prompt-completion", &["prompt"], "\"prompt\" (with \"completion\")"),
    (InputFormat::Text, "text", &["text"], "\"text\""),
    (InputFormat::OpenaiBatch, "openai-batch", &["body"], "\"body\""),
    (InputFormat::Responses, "responses", &["input"], "\"input\" (with \"instructions\")"),
    (InputFormat::Ultrachat, "ultrachat", &["data"], "\"data\""),
    (
        InputFormat::Chosen,
        "chosen",
        &["chosen", "preferred_output", "chosen_messages", "rejected_messages", "rejected_response"],
        "\"chosen\" (with \"prompt\"), \"preferred_output\" (with \"input\"), \"chosen_messages\" or \"rejected_response\" (with \"messages\")",
    ),
    (
        InputFormat::Rejected,
        "rejected",
        &["rejected", "non_preferred_output", "rejected_messages", "rejected_response"],
        "\"rejected\" (with \"prompt\"), \"non_preferred_output\" (with \"input\"), \"rejected_messages\" or \"rejected_response\" (with \"messages\")",
    ),
];

impl FromStr for InputFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name("format of input", name, FORMATS.iter().map(|(format, name, ..)| (*name, *format)))
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = FORMATS.iter().find(|(format, ..)| format == self);
        f.write_str(found.map_or("auto", |(_, name, ..)| name))
    }
}

impl InputFormat {
    /// Whether a record may be just a list or a string.
    pub(crate) fn has_bare_values(self) -> bool {
        matches!(self, Self::Auto | Self::Messages | Self::Sharegpt | Self::Text)
    }

    /// Whether a list of objects can only be a list of records: no record of the format is itself a list.
    pub(crate) fn lists_records(self) -> bool {
        !self.has_bare_values()
    }

    /// The format itself, if the record has one of its keys.
    pub(super) fn with_its_keys(self, keys: &Keys<'_>) -> Result<Self> {
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

/// The format, detected from a record's keys. In a list, a record with a column like `role` is told from a message by its
/// other keys, which `source/layout.rs` lists, too.
pub(super) fn detected(keys: &Keys<'_>) -> Result<InputFormat> {
    let has = |all: &[&str]| all.iter().all(|key| keys.has(key));
    Ok(if keys.begins("body", '{') && (has(&["custom_id"]) || has(&["url"]) || has(&["method"])) {
        InputFormat::OpenaiBatch
    } else if !has(&["prompt"]) && ["chosen", "rejected"].iter().all(|key| keys.begins(key, '{')) {
        return Err(two_answers("chosen", "rejected"));
    } else if has(&["messages"]) {
        InputFormat::Messages
    } else if has(&["conversations"]) {
        InputFormat::Sharegpt
    } else if keys.begins("conversation", '[') {
        InputFormat::Messages
    } else if has(&["chosen", "rejected"]) {
        return Err(two_answers("chosen", "rejected"));
    } else if has(&["preferred_output", "non_preferred_output"]) {
        return Err(two_answers("preferred_output", "non_preferred_output"));
    } else if has(&["chosen_messages", "rejected_messages"]) {
        return Err(two_answers("chosen_messages", "rejected_messages"));
    } else if has(&["instruction"]) && (has(&["input"]) || has(&["output"])) {
        InputFormat::Alpaca
    } else if has(&["prompt", "completion"]) || has_response(keys) {
        InputFormat::PromptCompletion
    } else if has(&["prompt"]) && !keys.begins("prompt", '{') {
        InputFormat::Messages
    } else if is_response_request(keys) {
        InputFormat::Responses
    } else if keys.raw("data").is_some_and(|data| data.starts_with('[') && !begins_with_object(data)) {
        InputFormat::Ultrachat
    } else if let Some(error) = keys.rejected_line() {
        return Err(error);
    } else if has(&["text"]) && !has(&["role"]) && !has(&["parent_id"]) {
        InputFormat::Text
    } else if is_question_with_response(keys) {
        InputFormat::QueryResponse
    } else {
        return Err(nothing_fits(keys));
    })
}

/// The key that may have the whole question of a record.
fn whole_question(keys: &Keys<'_>) -> Option<&'static str> {
    match (keys.begins("query", '"'), keys.begins("question", '"') && keys.has("response")) {
        (true, false) => Some("query"),
        (false, true) => Some("question"),
        _ => None,
    }
}

/// Whether a record is a question and its answer, without anything else that belongs to the question.
fn is_question_with_response(keys: &Keys<'_>) -> bool {
    let is_one = keys.begins("query", '"') && (keys.has("response") || keys.has("history"))
        || keys.begins("question", '"') && keys.begins("response", '"');
    let more = [
        "article",
        "audio",
        "image",
        "video",
        "choices",
        "context",
        "contexts",
        "document",
        "documents",
        "examples",
        "input",
        "instruction",
        "options",
        "paragraph",
        "passage",
        "passages",
        "table",
    ];
    is_one && keys.has("query") != keys.has("question") && keys.given(&more).is_empty()
}

/// Whether a record is a request to `/v1/responses`: `input` lists items, or there are instructions for a text. A text in
/// `text` or an answer in a text would be something else.
fn is_response_request(keys: &Keys<'_>) -> bool {
    #[derive(Deserialize)]
    struct Item {
        role: Option<IgnoredAny>,
        r#type: Option<IgnoredAny>,
    }

    if ["text", "output", "response"].iter().any(|key| keys.begins(key, '"')) {
        return false;
    }
    if !keys.raw("input").is_some_and(begins_with_object) {
        return keys.begins("input", '"') && keys.begins("instructions", '"');
    }
    let is_item = |item: &Item| item.role.is_some() || item.r#type.is_some();
    keys.get("input").is_ok_and(|items: Option<Vec<Item>>| items.unwrap_or_default().iter().all(is_item))
}

fn two_answers(better: &str, worse: &str) -> Error {
    refused(&format!("the record has two answers, {better:?} and {worse:?}")).with_way_out(way_out![
        "choose one with ",
        Setting::INPUT_FORMAT.set_to("chosen"),
        " or ",
        Setting::INPUT_FORMAT.set_to("rejected")
    ])
}

/// Whether a record has a prompt and its answer: two texts, or messages that a text, a message or messages answer.
fn has_response(keys: &Keys<'_>) -> bool {
    if !keys.begins("prompt", '[') {
        return keys.begins("prompt", '"') && keys.begins("response", '"');
    }
    let has_role = |response: &str| response.contains("\"role\"");
    let is_answer = keys.begins("response", '"') || keys.raw("response").is_some_and(has_role);
    is_answer && matches!(keys.get("prompt"), Ok(Some(Conversation::Messages(_))))
}

/// An error with the keys that a record has, and those that it could have.
fn nothing_fits(keys: &Keys<'_>) -> Error {
    let has = |all: &[&str]| all.iter().all(|key| keys.has(key));
    let names = keys.names();
    let way_out = if keys.lists_messages("turns") {
        "\"turns\" lists messages: name the list \"messages\"".into()
    } else if keys.begins("turns", '[') {
        way_out![
            "\"turns\" lists questions without answers, each of which needs the previous answer: use them as rows, with ",
            Setting::DATASET,
            " and the inferencer MultiTurnGenInferencer (docs/turns.md)"
        ]
    } else if has(&["role", "content"]) || has(&["from", "value"]) || has(&["section"]) {
        "this is one message, but a record must be a whole conversation: {\"messages\": [ … ]}".into()
    } else if let Some(key) = whole_question(keys) {
        way_out![
            format!("if {key:?} is the whole question, with its answer in \"response\", use "),
            Setting::INPUT_FORMAT.set_to("query-response"),
            "; with ",
            Setting::DATASET,
            " it is a column of a row"
        ]
    } else if keys.begins("input", '"') {
        way_out![
            "if \"input\" is that of a request to /v1/responses, use ",
            Setting::INPUT_FORMAT.set_to("responses"),
            "; with ",
            Setting::DATASET,
            " it is a column of a row"
        ]
    } else if has(&["parent_id"]) || has(&["role", "text"]) {
        "this is one message of a tree; list the messages of each path through it: {\"messages\": [{\"role\": \"user\", \"content\": \"…\"}, …]}".into()
    } else {
        let way_out = way_out![
            "a record needs messages, conversations, instruction with output, prompt, text, or a request's body (docs/input.md); with ",
            Setting::DATASET,
            " it is a row with any columns"
        ];
        match keys.list_of_objects() {
            Some(list) => {
                way_out.and(format!("; if {list:?} lists the records, use ")).and(Setting::FIELD.set_to(list))
            }
            None => way_out,
        }
    };
    refused(&format!("no conversation found: the record has {names}")).with_way_out(way_out)
}
