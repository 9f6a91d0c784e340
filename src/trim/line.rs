//! An answer as a line of JSON: what stays of it, and at what it ended.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stop::{Completion, Stop};
use crate::tokenizer::TokenId;

/// What stays of an answer, as a line of JSON. The keys that name its prompt are the input's.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct TrimmedAnswer<'a> {
    /// The id of its prompt, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a RawValue>,
    /// Which of the repeats of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<&'a RawValue>,
    /// Which turn of its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<&'a RawValue>,
    /// The columns of its row that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<&'a RawValue>,
    /// The ids that stay; none of an answer of text alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ids: Option<Vec<TokenId>>,
    /// The text that stays.
    pub text: String,
    /// `stop` or `length`.
    pub finish_reason: &'static str,
    /// At what it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The ids from the stop on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<TokenId>,
    /// What stopped it and where, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// What the engine should have done otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// Something that the engine should have done otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A stable name.
    pub code: &'static str,
    /// What it is.
    pub message: String,
}

impl TrimmedAnswer<'_> {
    pub(crate) fn new(completion: Completion) -> Self {
        let Completion { token_ids, text, stop, tail, .. } = completion;
        Self { token_ids: Some(token_ids), tail, ..Self::of_text(text, stop) }
    }

    pub(super) fn of_text(text: String, stop: Option<Stop>) -> Self {
        Self {
            id: None,
            repeat: None,
            turn: None,
            columns: None,
            token_ids: None,
            text,
            finish_reason: if stop.is_some() { "stop" } else { "length" },
            stop,
            tail: Vec::new(),
            explain: None,
            problems: Vec::new(),
        }
    }
}
