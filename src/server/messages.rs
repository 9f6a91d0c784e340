//! Answers of `/v1/messages`, Anthropic's: one message with a list of blocks; and lines of the output of its batch API.
//!
//! Sources: `Message` and `MessageBatchIndividualResponse` of Anthropic's Python library, 2.14.0; recorded answers of
//! vLLM 0.32, SGLang 0.5.23 and llama.cpp's server.

use crate::error::{At, Result};
use crate::input::from_json;
use crate::server::answer::of_openai;
use crate::server::raw_object::RawObject;
use crate::server::said::Said;
use crate::server::{AnswerFormat, EngineAnswer, StopReason};

pub(super) const ANSWERS: AnswerFormat =
    AnswerFormat { name: "/v1/messages", keys: &["role", "content", "stop_reason"], read };
pub(super) const BATCH: AnswerFormat =
    AnswerFormat { name: "Anthropic's batch API", keys: &["custom_id", "result"], read: read_batch };

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let said = Said::of_parts(object, "content", read_block)?;
    let reason: String = object.get("stop_reason")?.unwrap_or_default();
    Ok(vec![EngineAnswer {
        finish_reason: Some(of_openai(&reason).map_or(reason, str::to_owned)),
        stop_reason: object.get("stop_sequence")?.map(StopReason::String),
        ..said.into_answer(object.answer()?)
    }])
}

/// Whether it is a block of a known kind.
fn read_block(block: &RawObject<'_>, said: &mut Said<'_>) -> Result<bool> {
    match block.get::<String>("type")?.as_deref() {
        Some("text") => said.text.extend(block.get::<String>("text")?),
        Some("thinking") => said.beside.reasoning_content.extend(block.get::<String>("thinking")?),
        Some("tool_use") => {
            let arguments = block.raw("input").map_or_else(|| "{}".to_owned(), |input| input.get().to_owned());
            said.call_tool(block.get("id")?, block.get("name")?.unwrap_or_default(), arguments);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The `result` has a message or an error. If it was canceled or has expired, it is an error itself.
fn read_batch<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let result =
        object.raw("result").map(|result| from_json::<RawObject<'a>>(result.get())).transpose().at("result")?;
    let [message, error] = ["message", "error"].map(|key| result.as_ref().and_then(|result| result.raw(key)));
    match message {
        Some(message) => from_json(message.get()).and_then(|object| read(&object)).at("result.message"),
        None => Ok(vec![EngineAnswer { error: error.or(object.raw("result")), ..object.answer()? }]),
    }
}
