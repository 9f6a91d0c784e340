//! Answers of `/v1/completions`, of vLLM, SGLang, TensorRT-LLM, Dynamo and every server that has OpenAI's API, and of
//! vLLM's `/inference/v1/generate`: one object with `choices`.
//!
//! Sources: recorded answers of vLLM 0.32 and SGLang 0.5.23.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use crate::conversation::{SAID_BESIDE, says_nothing};
use crate::error::{At, Result};
use crate::input::from_json;
use crate::server::answer::{end_of, is_error};
use crate::server::protocol::{MODELS, Tokenize, Usage, read_models};
use crate::server::raw_object::RawObject;
use crate::server::request_id::json_string;
use crate::server::token_logprobs::{VllmLogprobs, all};
use crate::server::unfinished::{NO_REASON, is_null, unfinished};
use crate::server::{AnswerFormat, EngineAnswer, Protocol, StopReason};
use crate::tokenizer::TokenId;

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "/v1/completions", keys: &["choices"], read: read_whole };

/// vLLM's protocol. Other servers support a part of it.
pub(super) const VLLM: Protocol = Protocol {
    name: "vllm",
    form: "vllm",
    path: "/v1/completions",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, model| json!({"model": model, "prompt": text, "add_special_tokens": false}),
        is_certain: true,
    },
    descriptions: &[(MODELS, read_models)],
    max_tokens: "max_tokens",
    gives_ids: true,
    omits_ids: false,
    repeats_text: false,
    refuses_in_stream: false,
    read,
    usage,
};

/// Reads the token counts of an event, which have OpenAI's keys.
fn usage(object: &RawObject<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Counts {
        completion_tokens: Option<usize>,
        prompt_tokens_details: Option<Details>,
    }

    #[derive(Deserialize)]
    struct Details {
        cached_tokens: Option<usize>,
    }

    let Counts { completion_tokens, prompt_tokens_details } = object.get("usage")?.unwrap_or_default();
    let cached_tokens = prompt_tokens_details.and_then(|details| details.cached_tokens);
    Ok(Usage { completion_tokens, cached_tokens })
}

/// Prefixes that servers add to the id of a request.
const PREFIXES: [&str; 3] = ["cmpl-", "chatcmpl-", "generate-tokens-"];

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<usize>,
    text: Option<String>,
    /// Only in `/v1/chat/completions`.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    /// SGLang names them differently in chats.
    #[serde(alias = "response_token_ids")]
    token_ids: Option<Vec<TokenId>>,
    /// LMDeploy's.
    output_ids: Option<Vec<TokenId>>,
    /// vLLM's.
    prompt_logprobs: Option<Vec<VllmLogprobs>>,
    finish_reason: Option<String>,
    /// The error of servers that ask others.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// vLLM's.
    stop_reason: Option<StopReason>,
    /// SGLang's.
    matched_stop: Option<StopReason>,
    /// Where LiteLLM puts the keys of the server that it asks, whichever that is.
    #[serde(borrow)]
    provider_specific_fields: Option<&'a RawValue>,
}

/// vLLM's keys, by which an answer is trimmed.
#[derive(Deserialize)]
struct ProviderFields {
    token_ids: Vec<TokenId>,
    stop_reason: Option<StopReason>,
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

/// The text of a message, and what else it says, as a JSON object. Its content is null, or left out, if it says nothing.
fn of_message(message: &RawValue) -> Result<(Option<String>, Option<Box<RawValue>>)> {
    let object: RawObject<'_> = from_json(message.get())?;
    let mut beside = Vec::new();
    let text = match object.get("content")? {
        Some(MessageContent::Text(text)) => Some(text),
        Some(MessageContent::Parts(parts)) => {
            if parts.iter().any(|part| part.text.is_none()) {
                beside.push("content");
            }
            Some(parts.into_iter().filter_map(|part| part.text).collect())
        }
        None => object.names().any(|key| matches!(key, "content" | "role")).then(String::new),
    };
    let says_something = |value: &RawValue| serde_json::from_str(value.get()).is_ok_and(|value| !says_nothing(&value));
    beside.extend(SAID_BESIDE.into_iter().filter(|key| object.raw(key).is_some_and(says_something)));
    let entry = |key: &str| format!("{key:?}:{}", object.raw(key).map_or("null", RawValue::get));
    let beside =
        (!beside.is_empty()).then(|| format!("{{{}}}", beside.into_iter().map(entry).collect::<Vec<_>>().join(",")));
    Ok((text, beside.and_then(|object| RawValue::from_string(object).ok())))
}

/// Dynamo's extension. It describes a choice only if there is exactly one.
#[derive(Clone, Default, Deserialize)]
struct NvExt {
    completion_token_ids: Option<Vec<TokenId>>,
    stop_reason: Option<StopReason>,
}

/// Reads the choices of an answer, or of an event of a stream, which may say nothing.
pub(super) fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let choices: Vec<Choice<'_>> = object.get("choices")?.unwrap_or_default();
    let (answer, mut prompt_logprobs) = (object.answer()?, all::<VllmLogprobs>(object.get("prompt_logprobs")?));
    answer.check_shared_by(choices.len(), prompt_logprobs.as_ref().map_or(0, Vec::len))?;
    let id = object.raw("id").or_else(|| object.raw("request_id"));
    let id = id.map(|id| without_prefix(Cow::Borrowed(id)));
    let is_only = choices.len() == 1;
    let nvext: NvExt = object.get("nvext")?.unwrap_or_default();
    let answers = choices.into_iter().enumerate().map(|(i, choice)| {
        let is_chat = choice.text.is_none() && choice.message.is_some();
        let message = choice.message.map(of_message).transpose().at(format_args!("choices[{i}]"))?;
        let (of_message, message) = message.unwrap_or_default();
        let text = choice.text.or(of_message);
        let nvext = if is_only { nvext.clone() } else { NvExt::default() };
        let stop_is_optional = choice.output_ids.is_some();
        let of_provider = choice.provider_specific_fields.and_then(|fields| serde_json::from_str(fields.get()).ok());
        let (of_provider, stop_of_provider) =
            of_provider.map(|ProviderFields { token_ids, stop_reason }| (token_ids, stop_reason)).unzip();
        let token_ids = choice.token_ids.or(choice.output_ids).or(nvext.completion_token_ids).or(of_provider);
        let named = choice.stop_reason.or(choice.matched_stop).or(nvext.stop_reason).or(stop_of_provider.flatten());
        let (finish_reason, stop_reason) = end_of(choice.finish_reason, named);
        let has_answer = text.is_some() || token_ids.is_some() || message.is_some();
        // TensorRT-LLM sends an empty text with ids.
        let text = text.filter(|text| !text.is_empty() || token_ids.as_ref().is_none_or(Vec::is_empty));
        Ok(EngineAnswer {
            id: id.clone(),
            choice: (!is_only).then_some(choice.index.unwrap_or(i)).or(answer.choice),
            prompt_logprobs: all(choice.prompt_logprobs)
                .or_else(|| if is_only { prompt_logprobs.take() } else { prompt_logprobs.clone() }),
            token_ids,
            text,
            is_chat,
            message: message.map(Cow::Owned),
            error: choice.error.filter(|error| is_error(error.get(), has_answer, finish_reason.as_deref())),
            finish_reason,
            stop_reason,
            stop_is_optional,
            ..answer.clone()
        })
    });
    answers.collect()
}

/// Reads the answers of a file, in which a part of a streamed answer is an error.
fn read_whole<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let answers = read(object);
    if !matches!(&answers, Ok(all) if all.iter().all(|answer| answer.finish_reason.is_some())) {
        check_whole(object)?;
    }
    let answers = answers?;
    let says_nothing = |answer: &EngineAnswer<'_>| {
        answer.token_ids.is_none() && answer.text.is_none() && answer.message.is_none() && answer.error.is_none()
    };
    match answers.iter().position(says_nothing) {
        Some(i) => Err(nothing()).at(format_args!("choices[{i}]")),
        None => Ok(answers),
    }
}

fn check_whole(object: &RawObject<'_>) -> Result<()> {
    #[derive(Deserialize)]
    struct Choice {
        /// In place of a message.
        delta: Option<IgnoredAny>,
        #[serde(default, rename = "finish_reason", deserialize_with = "is_null")]
        goes_on: bool,
    }

    // What else is wrong, the answers tell.
    let choices: Vec<Choice> = object.get("choices").ok().flatten().unwrap_or_default();
    match choices.iter().find(|choice| choice.delta.is_some() || choice.goes_on) {
        Some(Choice { delta: Some(_), .. }) => Err(unfinished("it has a \"delta\"")),
        Some(_) => Err(unfinished(NO_REASON)),
        None => Ok(()),
    }
}

fn nothing() -> crate::Error {
    crate::ErrorKind::Invalid("there is no \"token_ids\", \"text\" or \"message\" with \"role\" or \"content\"".into())
        .into()
}

/// The request's id, without the server's prefix.
fn without_prefix(id: Cow<'_, RawValue>) -> Cow<'_, RawValue> {
    let Ok(text) = serde_json::from_str::<String>(id.get()) else { return id };
    match PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(rest) => Cow::Owned(json_string(rest)),
        None => id,
    }
}
