//! An answer as a line: what stays of it, and at what it ended.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stop::{Completion, FinishReason, StopSource, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};

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

/// At what it ended.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Stop {
    Token {
        token_id: TokenId,
        /// None of an id that the tokenizer does not have.
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        sources: Vec<StopSource>,
    },
    String {
        string: String,
    },
}

/// Something that the engine should have done otherwise.
#[derive(Serialize)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl<'a> Trimmed<'a> {
    pub(crate) fn new(completion: Completion, trimmer: &Trimmer, tokenizer: &Tokenizer) -> Self {
        let stop = match completion.finish_reason {
            FinishReason::Length => None,
            FinishReason::StopString(string) => {
                Some(Stop::String { string: trimmer.criteria().strings()[string].clone() })
            }
            FinishReason::StopToken(token_id) => {
                let token = tokenizer.id_to_token(token_id);
                Some(Stop::Token { token_id, token, sources: completion.stop_sources })
            }
        };
        let (token_ids, tail) = (Some(completion.token_ids), completion.tail);
        Self { token_ids, tail, ..Self::of_text(completion.text, stop) }
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
