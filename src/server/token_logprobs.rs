//! The log-probabilities that engines return for the tokens of a prompt.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::tokenizer::TokenId;

/// The log-probabilities that an engine returned for one position of a prompt, by id. The first position has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenLogprobs(Vec<(TokenId, Option<f64>)>);

impl TokenLogprobs {
    /// The ids.
    pub fn token_ids(&self) -> impl Iterator<Item = TokenId> {
        self.0.iter().map(|(id, _)| *id)
    }

    /// The natural logarithm of an id's probability after the tokens before it, if the engine returned it.
    pub fn logprob(&self, id: TokenId) -> Option<f64> {
        self.0.iter().find(|(other, _)| *other == id)?.1
    }
}

/// vLLM's form: an object by id, or null.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct VllmLogprobs(Option<HashMap<TokenId, Logprob>>);

#[derive(Deserialize)]
struct Logprob {
    /// Null where Python writes `NaN`.
    logprob: Option<f64>,
}

impl From<VllmLogprobs> for TokenLogprobs {
    fn from(VllmLogprobs(by_id): VllmLogprobs) -> Self {
        Self(by_id.into_iter().flatten().map(|(id, Logprob { logprob })| (id, logprob)).collect())
    }
}

/// SGLang's form: the log-probability or null, the id, and its text or null.
#[derive(Deserialize)]
pub(super) struct SglangLogprob(Option<f64>, TokenId, #[allow(dead_code, reason = "the list has it")] IgnoredAny);

impl From<SglangLogprob> for TokenLogprobs {
    fn from(SglangLogprob(logprob, id, _): SglangLogprob) -> Self {
        Self(vec![(id, logprob)])
    }
}

/// The log-probabilities of all positions.
pub(super) fn all<T: Into<TokenLogprobs>>(positions: Option<Vec<T>>) -> Option<Vec<TokenLogprobs>> {
    Some(positions?.into_iter().map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_none() {
        let position: VllmLogprobs =
            serde_json::from_str(r#"{"5": {"logprob": null}, "6": {"logprob": -1.5}}"#).expect("it is vLLM's form");
        let logprobs = TokenLogprobs::from(position);
        assert_eq!([5, 6].map(|id| logprobs.logprob(id)), [None, Some(-1.5)]);
    }
}
