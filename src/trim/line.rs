//! A trimmed answer as a line of JSON: the ids and text that are left, and where it ended.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::server::{EngineAnswer, StopReason, calls_tools};
use crate::stop::{Completion, Stop};
use crate::tokenizer::TokenId;

/// A trimmed answer, as a line of JSON. The keys that identify its prompt are the input's.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TrimmedAnswer<'a> {
    /// The id of its prompt, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Cow<'a, RawValue>>,
    /// Which of the repeats of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// Which turn of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// Which of several answers to one request it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<usize>,
    /// The columns of its row that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<&'a RawValue>,
    /// What its prompt lost to be short enough, as [`Truncated`](crate::truncate::Truncated) in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Cow<'a, RawValue>>,
    /// The ids before the stop; none if the answer has only text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ids: Option<Vec<TokenId>>,
    /// The text before the stop.
    pub text: String,
    /// What the message of a chat says besides its content, such as `tool_calls` and `reasoning_content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, RawValue>>,
    /// `stop` if it ends at a stop, `tool_calls` if the engine reported that. Otherwise what the engine reported, such as
    /// `stop`, `length` or `abort`; `length` if it reported nothing, `error` if there is no answer.
    pub finish_reason: Cow<'a, str>,
    /// The stop at which it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The end that the engine reported. Without a stop, also that it reported none: the reason is then not the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Reported>,
    /// The ids from the stop on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<TokenId>,
    /// An explanation of what stopped it and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// The engine's mistakes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// The error that the engine reported in place of an answer, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a RawValue>,
    /// The server's events, if they are kept.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub raw: &'a [Box<RawValue>],
}

/// How an engine reported the end of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Reported {
    /// Why it ended; none if the engine does not say.
    pub finish_reason: Option<String>,
    /// The stop, if the engine names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
}

/// A mistake of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its stable name.
    pub code: &'static str,
    /// A description.
    pub message: String,
}

impl Reported {
    /// Whether the engine reported anything.
    pub(crate) fn is_anything(&self) -> bool {
        self.finish_reason.is_some() || self.stop_reason.is_some()
    }
}

impl<'a> TrimmedAnswer<'a> {
    pub(crate) fn new(completion: Completion) -> Self {
        let Completion { token_ids, text, stop, tail, .. } = completion;
        Self { token_ids: Some(token_ids), tail, ..Self::of_text(text, stop) }
    }

    pub(super) fn of_text(text: String, stop: Option<Stop>) -> Self {
        Self {
            id: None,
            repeat: None,
            turn: None,
            choice: None,
            columns: None,
            truncated: None,
            token_ids: None,
            text,
            message: None,
            finish_reason: if stop.is_some() { "stop" } else { "length" }.into(),
            stop,
            engine: None,
            tail: Vec::new(),
            explain: None,
            problems: Vec::new(),
            error: None,
            raw: &[],
        }
    }

    /// Adds what the engine reported.
    pub(super) fn of_engine(mut self, mut answer: EngineAnswer<'a>) -> Self {
        // Some servers send an empty word where they have none.
        answer.finish_reason = answer.finish_reason.filter(|reason| !reason.is_empty());
        let EngineAnswer { id, repeat, turn, choice, columns, message, finish_reason, stop_reason, error, .. } = answer;
        let truncated = answer.truncated.map(Cow::Borrowed);
        // With a tail, its stop is found again, if it is one.
        if answer.tail.is_empty() && self.stop.is_none() && answer.stop.is_some() {
            let explain = self.explain.map(|_| "it was trimmed before".to_owned());
            self = Self { stop: answer.stop, finish_reason: "stop".into(), explain, ..self };
        }
        let reason = match &finish_reason {
            Some(reason) if self.stop.is_none() || error.is_some() || calls_tools(reason) => reason.clone().into(),
            _ if error.is_some() => "error".into(),
            _ => self.finish_reason,
        };
        let reported = Reported { finish_reason, stop_reason };
        // Where neither a stop nor an error says so, a reader of the line must see that the reason is not the engine's.
        let is_told = reported.is_anything() || self.stop.is_none() && error.is_none();
        let engine = is_told.then_some(reported);
        Self { id, repeat, turn, choice, columns, truncated, message, finish_reason: reason, engine, error, ..self }
    }
}
