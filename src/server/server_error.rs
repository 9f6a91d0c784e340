//! What servers answer to a request that they refuse, beside OpenAI's `error`: SGLang's object, and FastAPI's `detail`.
//!
//! Source: `ErrorResponse` in `python/sglang/srt/entrypoints/openai/protocol.py` at 004c82e.

use serde_json::value::RawValue;

use crate::error::Result;
use crate::server::raw_object::RawObject;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const OBJECT: AnswerFormat =
    AnswerFormat { name: "an error", keys: &["object", "message"], read: read_object };
pub(super) const DETAIL: AnswerFormat = AnswerFormat { name: "an error", keys: &["detail"], read: read_detail };

/// The error that an event of a stream is.
pub(super) fn in_stream<'a>(object: &RawObject<'a>) -> Option<&'a RawValue> {
    let is_object = OBJECT.keys.iter().all(|key| object.has(key));
    let is_detail = object.has("detail") && object.names().count() == 1;
    let read = if is_object { read_object } else { read_detail };
    let answers = if is_object || is_detail { read(object).ok()? } else { return None };
    answers.first().and_then(|answer| answer.error)
}

fn read_object<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let is_error = object.raw("object").is_some_and(|object| object.get() == "\"error\"");
    let error = object.raw("message").filter(|_| is_error);
    error.map(|error| Ok(EngineAnswer { error: Some(error), ..object.answer()? })).into_iter().collect()
}

fn read_detail<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    Ok(vec![EngineAnswer { error: object.raw("detail"), ..object.answer()? }])
}
