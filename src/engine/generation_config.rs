//! How a model's `generation_config.json` wants its answers sampled.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::engine::Sampling;
use crate::error::{Error, ErrorKind, Result};
use crate::wording;

/// Keys of the file that change answers and that the engine does not apply, with the value that changes nothing.
const NOT_APPLIED: [(&str, f64); 7] = [
    ("min_p", 0.0),
    ("typical_p", 1.0),
    ("epsilon_cutoff", 0.0),
    ("eta_cutoff", 0.0),
    ("no_repeat_ngram_size", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("num_beams", 1.0),
];

#[derive(Deserialize)]
struct GenerationConfig {
    #[serde(default)]
    do_sample: Option<bool>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    top_k: Option<usize>,
    repetition_penalty: Option<f64>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Sampling {
    /// What `generation_config.json` says. As in transformers, the likeliest token is always chosen unless it has
    /// `"do_sample": true`; a repetition penalty applies in any case.
    ///
    /// ```
    /// use metatok::engine::Sampling;
    ///
    /// let json = br#"{"do_sample": true, "temperature": 0.6, "top_p": 0.9, "eos_token_id": 2}"#;
    /// assert_eq!(Sampling::of_generation_config(json)?, Sampling { temperature: 0.6, top_p: 0.9, ..Sampling::default() });
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for what is not such a file. [`ErrorKind::Usage`] names a value out of range, and a key
    /// that changes answers and is not applied.
    pub fn of_generation_config(json: &[u8]) -> Result<Self> {
        let config: GenerationConfig =
            serde_json::from_slice(json).map_err(|error| Error::from(wording::in_file(&error)))?;
        let GenerationConfig { do_sample, temperature, top_p, top_k, repetition_penalty, others } = config;
        for (key, neutral) in NOT_APPLIED {
            if let Some(value) = others.get(key).filter(|value| !value.is_null() && value.as_f64() != Some(neutral)) {
                let what = format!("{key} is {value}, which this engine does not apply");
                return Err(ErrorKind::Usage(what).with_way_out("state temperature, top_p and top_k yourself"));
            }
        }
        let greedy = Self { repetition_penalty: repetition_penalty.unwrap_or(1.0), ..Self::default() };
        let sampling = match do_sample {
            Some(true) => Self {
                temperature: temperature.unwrap_or(1.0),
                top_p: top_p.unwrap_or(1.0),
                top_k: top_k.and_then(std::num::NonZeroUsize::new),
                ..greedy
            },
            Some(false) | None => greedy,
        };
        sampling.check()?;
        Ok(sampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let greedy = Sampling::default();
        let top_k = std::num::NonZeroUsize::new(20);
        #[rustfmt::skip]
        let table = [
            (r#"{"eos_token_id": 2}"#, Ok(greedy)),
            (r#"{"do_sample": false, "temperature": 0.7}"#, Ok(greedy)),
            (r#"{"temperature": 0.7}"#, Ok(greedy)),
            (r#"{"do_sample": true}"#, Ok(Sampling { temperature: 1.0, ..greedy })),
            (r#"{"do_sample": true, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05, "num_beams": 1, "min_p": null}"#,
                Ok(Sampling { temperature: 0.7, top_p: 0.8, top_k, repetition_penalty: 1.05, ..greedy })),
            (r#"{"do_sample": true, "top_k": 0}"#, Ok(Sampling { temperature: 1.0, ..greedy })),
            (r#"{"do_sample": true, "min_p": 0.05}"#, Err("min_p is 0.05, which this engine does not apply; state temperature, top_p and top_k yourself")),
            (r#"{"num_beams": 4}"#, Err("num_beams is 4, which this engine does not apply; state temperature, top_p and top_k yourself")),
            (r#"{"do_sample": true, "top_p": 2}"#, Err("top_p is 2, but must be above 0 and at most 1")),
            (r#"{"repetition_penalty": 0}"#, Err("repetition_penalty is 0, but must be above 0")),
        ];
        for (json, expected) in table {
            let found = Sampling::of_generation_config(json.as_bytes()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{json}");
        }
    }
}
