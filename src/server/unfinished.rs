//! Parts of streamed answers, which are no answers of their own.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::error::{Error, ErrorKind};

/// That the reason why an answer ended is there, but null.
pub(super) const NO_REASON: &str = "its \"finish_reason\" is null";

/// Whether a value is null, which is not the same as no value.
pub(super) fn is_null<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(value)?.is_none())
}

/// The error for a part of a streamed answer.
pub(super) fn unfinished(why: &str) -> Error {
    let error = ErrorKind::Invalid(format!("this is a part of a streamed answer: {why}"));
    error.with_way_out("join the parts, or send the requests with \"stream\": false")
}

/// The error for an answer that the server has not finished.
pub(super) fn in_progress(status: &str) -> Error {
    let error = ErrorKind::Invalid(format!("this answer is not finished: its \"status\" is {status:?}"));
    error.with_way_out("get it from the server again when it is completed")
}

/// The error for a line of a stream of events; none if it is not one.
pub(super) fn event(line: &str) -> Option<Error> {
    let is_event = ["data:", "event:", ": "].iter().any(|start| line.starts_with(start));
    is_event.then(|| {
        let error = ErrorKind::Invalid("this is a line of a stream of events, not an answer".into());
        error.with_way_out("send the requests with \"stream\": false")
    })
}
