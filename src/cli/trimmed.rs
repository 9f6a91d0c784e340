//! An answer as a line: what stays of it, and at what it ended.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stop::{Completion, Stop};
use crate::tokenizer::TokenId;

/// What stays of an answer.
#[derive(Serialize)]
pub(crate) struct Trimmed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeat: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<&'a RawValue>,
    /// The columns of its row that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) columns: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_ids: Option<Vec<TokenId>>,
    pub(crate) text: String,
    pub(crate) finish_reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Stop>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tail: Vec<TokenId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explain: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<Problem>,
}

/// Something that the engine should have done otherwise.
#[derive(Serialize)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl<'a> Trimmed<'a> {
    pub(crate) fn new(completion: Completion) -> Self {
        let Completion { token_ids, text, stop, tail, .. } = completion;
        Self { token_ids: Some(token_ids), tail, ..Self::of_text(text, stop) }
    }

    pub(crate) fn of_text(text: String, stop: Option<Stop>) -> Self {
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
