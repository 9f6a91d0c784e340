//! Answers as metatok writes them: `{"id", "token_ids", "text", "finish_reason"}`, or an error.

use std::borrow::Cow;

use serde::Deserialize;

use crate::error::Result;
use crate::server::answer::{end_of, is_error};
use crate::server::raw_object::RawObject;
use crate::server::{AnswerFormat, EngineAnswer, StopReason};
use crate::tokenizer::TokenId;

pub(super) const IDS: AnswerFormat = AnswerFormat { name: "metatok", keys: &["token_ids"], read };
pub(super) const TEXT: AnswerFormat = AnswerFormat { name: "metatok", keys: &["text"], read };
pub(super) const ERROR: AnswerFormat = AnswerFormat { name: "metatok", keys: &["error"], read };

/// The end that the engine reported, in a line that was trimmed before.
#[derive(Deserialize)]
struct Reported {
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let token_ids: Option<Vec<TokenId>> = object.get("token_ids")?;
    let text: Option<String> = object.get("text")?;
    let reason: Option<String> = object.get("finish_reason")?;
    let message = object.raw("message").filter(|message| message.get().starts_with('{'));
    let has_answer = token_ids.is_some() || text.is_some() || message.is_some();
    let error = object.raw("error").filter(|error| is_error(error.get(), has_answer, reason.as_deref()));
    let stop = object.get_own("stop");
    let engine = match object.get_own("engine") {
        Some(engine) => engine,
        // The reason is metatok's own, which found the stop.
        None if stop.is_some() => Reported { finish_reason: None, stop_reason: None },
        None => {
            // So is this one, which metatok gives to every error.
            let reason = reason.filter(|reason| reason != "error" || error.is_none());
            let (finish_reason, stop_reason) = end_of(reason, object.get("stop_reason")?);
            Reported { finish_reason, stop_reason }
        }
    };
    // Other programs have a truth value under this name.
    let truncated = object.raw("truncated").filter(|truncated| truncated.get().starts_with('{'));
    Ok(vec![EngineAnswer {
        truncated,
        token_ids,
        text,
        is_chat: message.is_some(),
        message: message.map(Cow::Borrowed),
        finish_reason: engine.finish_reason,
        stop_reason: engine.stop_reason,
        stop,
        tail: object.get_own("tail").filter(|_| object.has("token_ids")).unwrap_or_default(),
        error,
        ..object.answer()?
    }])
}
