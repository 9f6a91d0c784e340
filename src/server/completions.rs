//! Answers of `/v1/completions`, of vLLM, SGLang, TensorRT-LLM, Dynamo and every server that has OpenAI's API, and of
//! vLLM's `/inference/v1/generate`: one object with `choices`.
//!
//! Sources: recorded answers of vLLM 0.32 and SGLang 0.5.23.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::error::{At, Result};
use crate::server::keys::Keys;
use crate::server::protocol::{Tokenize, Usage, read_models};
use crate::server::request_id::json_string;
use crate::server::token_logprobs::{VllmLogprobs, all};
use crate::server::{AnswerFormat, EngineAnswer, Protocol, StopReason};
use crate::tokenizer::TokenId;

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "/v1/completions", keys: &["choices"], read };

/// vLLM's protocol. Other servers support a part of it.
pub(super) const VLLM: Protocol = Protocol {
    name: "vllm",
    form: "vllm",
    path: "/v1/completions",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, model| json!({"model": model, "prompt": text, "add_special_tokens": false}),
    },
    descriptions: &[("/v1/models", read_models)],
    max_tokens: "max_tokens",
    omits_ids: false,
    repeats_text: false,
    read,
    usage,
};

/// Reads the token counts of an event, which have OpenAI's keys.
fn usage(keys: &Keys<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Counts {
        completion_tokens: Option<usize>,
        prompt_tokens_details: Option<Details>,
    }

    #[derive(Deserialize)]
    struct Details {
        cached_tokens: Option<usize>,
    }

    let Counts { completion_tokens, prompt_tokens_details } = keys.get("usage")?.unwrap_or_default();
    let cached_tokens = prompt_tokens_details.and_then(|details| details.cached_tokens);
    Ok(Usage { completion_tokens, cached_tokens })
}

/// Prefixes that servers add to the id of a request.
const PREFIXES: [&str; 3] = ["cmpl-", "chatcmpl-", "generate-tokens-"];

#[derive(Deserialize)]
struct Choice {
    index: Option<usize>,
    text: Option<String>,
    /// Only in `/v1/chat/completions`.
    message: Option<Message>,
    token_ids: Option<Vec<TokenId>>,
    /// vLLM's.
    prompt_logprobs: Option<Vec<VllmLogprobs>>,
    finish_reason: Option<String>,
    /// vLLM's.
    stop_reason: Option<StopReason>,
    /// SGLang's.
    matched_stop: Option<StopReason>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<MessageContent>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or a list of parts")]
enum MessageContent {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl Message {
    /// Its text, and what else it says: calls of tools, thoughts, a refusal. One that only has those has no text.
    fn into_parts(self) -> (Option<String>, Map<String, Value>) {
        let Self { content, mut others } = self;
        others.retain(|key, value| key != "role" && !is_nothing(value));
        let text = match content {
            Some(MessageContent::Text(text)) => Some(text),
            Some(MessageContent::Parts(parts)) => Some(parts.into_iter().filter_map(|part| part.text).collect()),
            None => (!others.is_empty()).then(String::new),
        };
        (text, others)
    }
}

/// What servers write for keys that a message does not have.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value.as_str().is_some_and(str::is_empty)
}

/// Dynamo's extension. It describes a choice only if there is exactly one.
#[derive(Clone, Default, Deserialize)]
struct NvExt {
    completion_token_ids: Option<Vec<TokenId>>,
    stop_reason: Option<StopReason>,
}

pub(super) fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let choices: Vec<Choice> = keys.get("choices")?.unwrap_or_default();
    let answer = EngineAnswer { prompt_logprobs: all::<VllmLogprobs>(keys.get("prompt_logprobs")?), ..keys.answer()? };
    let id = keys.raw("id").or_else(|| keys.raw("request_id"));
    let id = id.map(|id| without_prefix(Cow::Borrowed(id)));
    let is_only = choices.len() == 1;
    let nvext: NvExt = keys.get("nvext")?.unwrap_or_default();
    let answers = choices.into_iter().enumerate().map(|(i, choice)| {
        let (of_message, message) = choice.message.map(Message::into_parts).unwrap_or_default();
        let text = choice.text.or(of_message);
        let nvext = if is_only { nvext.clone() } else { NvExt::default() };
        let token_ids = choice.token_ids.or(nvext.completion_token_ids);
        // TensorRT-LLM sends an empty text with ids.
        let text = text.filter(|text| !text.is_empty() || token_ids.as_ref().is_none_or(Vec::is_empty));
        let has_answer = token_ids.is_some() || text.is_some();
        let answer = EngineAnswer {
            id: id.clone(),
            choice: (!is_only).then_some(choice.index.unwrap_or(i)),
            prompt_logprobs: all(choice.prompt_logprobs).or_else(|| answer.prompt_logprobs.clone()),
            token_ids,
            text,
            message,
            finish_reason: choice.finish_reason,
            stop_reason: choice.stop_reason.or(choice.matched_stop).or(nvext.stop_reason),
            ..answer.clone()
        };
        if has_answer { Ok(answer) } else { Err(nothing()).at(format_args!("choices[{i}]")) }
    });
    answers.collect()
}

fn nothing() -> crate::Error {
    crate::ErrorKind::Invalid("there is neither \"token_ids\" nor \"text\"".into()).into()
}

/// The request's id, without the server's prefix.
fn without_prefix(id: Cow<'_, RawValue>) -> Cow<'_, RawValue> {
    let Ok(text) = serde_json::from_str::<String>(id.get()) else { return id };
    match PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(rest) => Cow::Owned(json_string(rest)),
        None => id,
    }
}
