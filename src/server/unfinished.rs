//! Parts of streamed answers, which are no answers of their own.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::error::{Error, ErrorKind};
use crate::server::keys::Keys;

/// A choice of a part of an answer: a `delta` in place of a message, or no end yet.
#[derive(Deserialize)]
struct Choice {
    delta: Option<IgnoredAny>,
    #[serde(default, rename = "finish_reason", deserialize_with = "is_null")]
    goes_on: bool,
}

/// SGLang's metadata of an answer.
#[derive(Deserialize)]
struct MetaInfo {
    #[serde(default, rename = "finish_reason", deserialize_with = "is_null")]
    goes_on: bool,
}

/// Whether a value is null, which is not the same as no value.
fn is_null<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(value)?.is_none())
}

/// Why an object is only a part of a streamed answer; none if it is not.
fn why(keys: &Keys<'_>) -> Option<&'static str> {
    let choices: Option<Vec<Choice>> = keys.get("choices").ok().flatten();
    for choice in choices.into_iter().flatten() {
        if choice.delta.is_some() {
            return Some("it has a \"delta\"");
        }
        if choice.goes_on {
            return Some("its \"finish_reason\" is null");
        }
    }
    let info: Option<MetaInfo> = keys.get("meta_info").ok().flatten();
    if info.is_some_and(|info| info.goes_on) {
        return Some("its \"finish_reason\" is null");
    }
    let goes_on = keys.has("content") && keys.raw("stop").is_some_and(|stop| stop.get() == "false");
    goes_on.then_some("its \"stop\" is false")
}

/// The error for a part of a streamed answer; none if it is not one.
pub(super) fn unfinished(keys: &Keys<'_>) -> Option<Error> {
    let why = why(keys)?;
    let error = ErrorKind::Invalid(format!("this is a part of a streamed answer: {why}"));
    Some(error.with_way_out("join the parts, or send the requests without \"stream\""))
}

/// The error for a line of a stream of events; none if it is not one.
pub(super) fn event(line: &str) -> Option<Error> {
    let is_event = ["data:", "event:", ": "].iter().any(|start| line.starts_with(start));
    is_event.then(|| {
        let error = ErrorKind::Invalid("this is a line of a stream of events, not an answer".into());
        error.with_way_out("send the requests without \"stream\"")
    })
}
