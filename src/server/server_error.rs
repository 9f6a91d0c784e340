//! What servers answer to a request that they refuse, beside OpenAI's `error`: SGLang's object, and FastAPI's `detail`.
//!
//! Source: `ErrorResponse` in `python/sglang/srt/entrypoints/openai/protocol.py` at 004c82e.

use serde_json::value::RawValue;

use crate::error::Result;
use crate::server::keys::Keys;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const OBJECT: AnswerFormat =
    AnswerFormat { name: "an error", keys: &["object", "message"], read: read_object };
pub(super) const DETAIL: AnswerFormat = AnswerFormat { name: "an error", keys: &["detail"], read: read_detail };

/// The error that an event of a stream is.
pub(super) fn in_stream<'a>(keys: &Keys<'a>) -> Option<&'a RawValue> {
    let is_object = OBJECT.keys.iter().all(|key| keys.has(key));
    let is_detail = keys.has("detail") && keys.names().count() == 1;
    let read = if is_object { read_object } else { read_detail };
    let answers = if is_object || is_detail { read(keys).ok()? } else { return None };
    answers.first().and_then(|answer| answer.error)
}

fn read_object<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let is_error = keys.raw("object").is_some_and(|object| object.get() == "\"error\"");
    let error = keys.raw("message").filter(|_| is_error);
    error.map(|error| Ok(EngineAnswer { error: Some(error), ..keys.answer()? })).into_iter().collect()
}

fn read_detail<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    Ok(vec![EngineAnswer { error: keys.raw("detail"), ..keys.answer()? }])
}
