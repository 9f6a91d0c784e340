//! A text to score, as `metatok build` wrote it with labels: its tokens, and which of them count.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::assemble::IGNORE_INDEX;
use crate::dataset::{Row, Value};
use crate::error::{At, ErrorKind, Result, Setting, counted, way_out};
use crate::score::{LogLikelihood, exact};
use crate::server::{LEAST, TokenLogprobs};
use crate::tokenizer::TokenId;

/// A line of the file.
#[derive(Deserialize)]
pub(super) struct TextLine<'a> {
    #[serde(borrow)]
    pub(super) id: &'a RawValue,
    pub(super) repeat: Option<usize>,
    #[serde(default, deserialize_with = "exact::value")]
    pub(super) label: Option<Value>,
    #[serde(default, rename = "normalizing")]
    pub(super) is_normalizing: bool,
    #[serde(default, deserialize_with = "exact::columns")]
    pub(super) columns: Option<Row>,
    input_ids: Vec<TokenId>,
    labels: Option<Vec<i64>>,
}

/// The tokens of a text, and whether the likelihood of each counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextToScore {
    input_ids: Vec<TokenId>,
    is_scored: Vec<bool>,
}

impl<'a> TextLine<'a> {
    pub(super) fn read(line: &'a str) -> Result<Self> {
        exact::object_from_line(line)
    }

    /// The label as it is compared with references.
    pub(super) fn label_text(&self) -> Result<String> {
        match &self.label {
            Some(Value::Text(label) | Value::Int(label)) => Ok(label.clone()),
            // As references are read, and as prompts have it.
            Some(label @ (Value::Float(_) | Value::Null)) => Ok(label.text().into_owned()),
            Some(label @ Value::Bool(_)) => Ok(label.to_json().to_string()),
            Some(other) => {
                let what = format!("a label must be a text, a number, a boolean or null, not {}", other.to_json());
                Err(ErrorKind::Invalid(what)).at("label")
            }
            None => {
                let what = "there is no \"label\": only the texts of a row's labels are compared, as PPLInferencer and LLInferencer make them";
                Err(ErrorKind::Invalid(what.into()).into())
            }
        }
    }

    pub(super) fn into_text(self) -> Result<TextToScore> {
        let Self { input_ids, labels, .. } = self;
        let Some(labels) = labels else {
            let what = "there are no \"labels\", which tell the scored tokens from their context";
            return Err(
                ErrorKind::Invalid(what.into()).with_way_out(way_out!["build the texts with ", Setting::LABELS])
            );
        };
        if labels.len() != input_ids.len() {
            let (labels, ids) = (counted(labels.len(), "label"), counted(input_ids.len(), "token"));
            return Err(ErrorKind::Invalid(format!("there are {labels} for {ids}"))).at("labels");
        }
        let is_scored: Vec<bool> = labels.iter().map(|label| *label != IGNORE_INDEX).collect();
        if !is_scored.contains(&true) {
            return Err(ErrorKind::Invalid("no token is scored".into())).at("labels");
        }
        Ok(TextToScore { input_ids, is_scored })
    }
}

impl TextToScore {
    /// Whether some of its tokens are only context.
    pub(super) fn has_context(&self) -> bool {
        self.is_scored.contains(&false)
    }

    /// The likelihood of the text, from an engine's log-probabilities of its last tokens.
    pub(super) fn log_likelihood(&self, logprobs: &[TokenLogprobs]) -> Result<LogLikelihood> {
        let tokens = self.input_ids.len();
        let Some(first) = tokens.checked_sub(logprobs.len()) else {
            let (scored, tokens) = (logprobs.len(), counted(tokens, "token"));
            return Err(other_text(&format!("the engine scored {scored} tokens, but the text has {tokens}")));
        };
        let mut sum = 0.0;
        for (place, (&id, &is_scored)) in self.input_ids.iter().zip(&self.is_scored).enumerate() {
            let position = place.checked_sub(first).map(|at| &logprobs[at]);
            position.map_or(Ok(()), |position| check_id(position, place, id))?;
            // The first token has no log-probability, because no token comes before it.
            if is_scored && place > 0 {
                sum += position.and_then(|position| position.logprob(id)).ok_or_else(|| no_logprob(place, id))?;
            }
        }
        // A token is impossible, and it does not matter how many are.
        let sum = if sum <= LEAST { f64::NEG_INFINITY } else { sum };
        Ok(LogLikelihood { sum, tokens: self.is_scored.iter().filter(|is_scored| **is_scored).count() })
    }
}

fn check_id(position: &TokenLogprobs, place: usize, id: TokenId) -> Result<()> {
    let ids: Vec<String> = position.token_ids().map(|id| id.to_string()).collect();
    if ids.is_empty() || position.token_ids().any(|other| other == id) {
        return Ok(());
    }
    let what = format!("the text's token {place} is {id}, but the engine scored {} there", ids.join(", "));
    Err(other_text(&what))
}

fn other_text(what: &str) -> crate::Error {
    ErrorKind::Invalid(what.to_owned()).with_way_out("score answers with the texts that they answer")
}

fn no_logprob(place: usize, id: TokenId) -> crate::Error {
    let what = format!("there is no log-probability of token {place} (id {id}), which is scored");
    ErrorKind::Invalid(what).with_way_out("request the log-probabilities of all scored tokens")
}
