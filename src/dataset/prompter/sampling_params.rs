//! The sampling parameters that a dataset declares.

use serde::Deserialize;

/// What engines need to know to sample answers, under the names that OpenAI's API, vLLM, SGLang and llama.cpp share.
/// Parameters that are not set are left to the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct SamplingParams {
    /// Divides the logits; at zero, the likeliest token is always chosen.
    pub temperature: Option<f64>,
    /// Only the likeliest tokens are sampled whose probabilities add up to this.
    pub top_p: Option<f64>,
    /// Only this many of the likeliest tokens are sampled.
    pub top_k: Option<i64>,
}

impl SamplingParams {
    /// With `do_sample = False`, in transformers' terms, the likeliest token is always chosen.
    pub(crate) fn of_transformers(self, do_sample: Option<bool>) -> Self {
        if do_sample == Some(false) { Self { temperature: Some(0.0), ..Self::default() } } else { self }
    }

    /// The parameters that are set, by name.
    pub(crate) fn said(&self) -> impl Iterator<Item = (&'static str, String)> {
        let number = |number: f64| number.to_string();
        let said = [
            ("temperature", self.temperature.map(number)),
            ("top_p", self.top_p.map(number)),
            ("top_k", self.top_k.map(|top_k| top_k.to_string())),
        ];
        said.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}
