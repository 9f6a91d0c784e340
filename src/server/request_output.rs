//! vLLM's offline `RequestOutput`s as JSON: `request_id`, `prompt_token_ids` and `outputs`.

use std::borrow::Cow;

use serde::Deserialize;

use crate::error::Result;
use crate::server::raw_object::RawObject;
use crate::server::token_logprobs::{VllmLogprobs, all};
use crate::server::unfinished::unfinished;
use crate::server::{AnswerFormat, EngineAnswer, StopReason};
use crate::tokenizer::TokenId;

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "vLLM's RequestOutput", keys: &["outputs"], read };

#[derive(Deserialize)]
struct Output {
    index: Option<usize>,
    text: Option<String>,
    token_ids: Option<Vec<TokenId>>,
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    if object.get_own("finished") == Some(false) {
        return Err(unfinished("its \"finished\" is false"));
    }
    let outputs: Vec<Output> = object.get("outputs")?.unwrap_or_default();
    let answer =
        EngineAnswer { prompt_logprobs: all::<VllmLogprobs>(object.get("prompt_logprobs")?), ..object.answer()? };
    answer.check_shared_by(outputs.len(), answer.prompt_logprobs.as_ref().map_or(0, Vec::len))?;
    let is_only = outputs.len() == 1;
    let answers = outputs.into_iter().enumerate().map(|(i, output)| EngineAnswer {
        id: answer.id.clone().or_else(|| object.raw("request_id").map(Cow::Borrowed)),
        choice: (!is_only).then_some(output.index.unwrap_or(i)).or(answer.choice),
        token_ids: output.token_ids,
        text: output.text,
        finish_reason: output.finish_reason,
        stop_reason: output.stop_reason,
        ..answer.clone()
    });
    Ok(answers.collect())
}
