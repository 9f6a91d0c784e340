//! Answers of `/v1/completions`, of vLLM, SGLang and every server that has OpenAI's API, and of vLLM's
//! `/inference/v1/generate`: one object with `choices`.
//!
//! Sources: vLLM 0.32 and SGLang 0.5.23, as they answered.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{At, Result};
use crate::server::keys::Keys;
use crate::server::request::json_string;
use crate::server::{AnswerFormat, EngineAnswer, StopReason};
use crate::tokenizer::TokenId;

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "/v1/completions", keys: &["choices"], read };

/// What servers put before the id of a request.
const PREFIXES: [&str; 3] = ["cmpl-", "chatcmpl-", "generate-tokens-"];

#[derive(Deserialize)]
struct Choice {
    index: Option<usize>,
    text: Option<String>,
    /// Of `/v1/chat/completions`.
    message: Option<Message>,
    token_ids: Option<Vec<TokenId>>,
    prompt_token_ids: Option<Vec<TokenId>>,
    finish_reason: Option<String>,
    /// vLLM's.
    stop_reason: Option<StopReason>,
    /// SGLang's.
    matched_stop: Option<StopReason>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

pub(super) fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let choices: Vec<Choice> = keys.get("choices")?.unwrap_or_default();
    let prompt: Option<Vec<TokenId>> = keys.get("prompt_token_ids")?;
    let answer = keys.answer()?;
    let id = keys.raw("id").or_else(|| keys.raw("request_id"));
    let id = id.map(|id| without_prefix(Cow::Borrowed(id)));
    let is_only = choices.len() == 1;
    let answers = choices.into_iter().enumerate().map(|(i, choice)| {
        let text = choice.text.or(choice.message.and_then(|message| message.content));
        let has_answer = choice.token_ids.is_some() || text.is_some();
        let answer = EngineAnswer {
            id: id.clone(),
            choice: (!is_only).then_some(choice.index.unwrap_or(i)),
            input_ids: choice.prompt_token_ids.or_else(|| prompt.clone()),
            token_ids: choice.token_ids,
            text,
            finish_reason: choice.finish_reason,
            stop_reason: choice.stop_reason.or(choice.matched_stop),
            ..answer.clone()
        };
        if has_answer { Ok(answer) } else { Err(nothing()).at(format_args!("choices[{i}]")) }
    });
    answers.collect()
}

fn nothing() -> crate::Error {
    crate::ErrorKind::Invalid("there is neither \"token_ids\" nor \"text\"".into()).into()
}

/// The id that was asked with.
fn without_prefix(id: Cow<'_, RawValue>) -> Cow<'_, RawValue> {
    let Ok(text) = serde_json::from_str::<String>(id.get()) else { return id };
    match PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        Some(rest) => Cow::Owned(json_string(rest)),
        None => id,
    }
}
