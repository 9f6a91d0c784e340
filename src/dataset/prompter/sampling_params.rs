//! The sampling parameters of a dataset or a user.

use serde::Deserialize;

/// Sampling parameters, with the names that OpenAI's API, vLLM, SGLang and llama.cpp share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct SamplingParams {
    /// Divides the logits; at zero, the likeliest token is always chosen.
    pub temperature: Option<f64>,
    /// Only the likeliest tokens whose probabilities add up to this are sampled.
    pub top_p: Option<f64>,
    /// Only this many of the likeliest tokens are sampled. 0 and -1 mean all tokens.
    pub top_k: Option<i64>,
}

impl SamplingParams {
    /// With `do_sample = False`, as transformers calls it, the likeliest token is always chosen; with `True`, the
    /// default temperature is 1.
    pub(crate) fn of_transformers(self, do_sample: Option<bool>) -> Self {
        match do_sample {
            Some(false) => Self { temperature: Some(0.0), ..Self::default() },
            Some(true) => Self { temperature: self.temperature.or(Some(1.0)), ..self },
            None => self,
        }
    }

    /// These parameters, with those of `other` for the missing ones.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            top_k: self.top_k.or(other.top_k),
        }
    }
}
