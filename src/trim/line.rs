//! An answer as a line of JSON: what stays of it, and at what it ended.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stop::{Completion, FinishReason, StopSource, Trimmer};
use crate::tokenizer::{TokenId, Tokenizer};

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

/// At what it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Stop {
    /// A token id.
    Token {
        /// The id.
        token_id: TokenId,
        /// Its string; none of an id that the tokenizer does not have.
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// Everything that asks for it.
        sources: Vec<StopSource>,
    },
    /// A stop string.
    String {
        /// The string.
        string: String,
    },
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
