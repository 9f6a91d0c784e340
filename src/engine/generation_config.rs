//! How a model's `generation_config.json` wants its answers sampled.

use std::num::NonZeroUsize;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::engine::Sampling;
use crate::error::{Error, ErrorKind, Result};
use crate::wording;

/// The `top_k` of transformers where a file says nothing.
const USUAL_TOP_K: usize = 50;

/// Keys of the file that change no answer here.
const HARMLESS: &[&str] = &[
    // Ids of tokens. What ends an answer is read with the tokenizer.
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "decoder_start_token_id",
    "user_token_id",
    "assistant_token_id",
    // How long answers are, which a run says itself.
    "max_length",
    "max_new_tokens",
    "max_window_size",
    // What only beams have.
    "early_stopping",
    "length_penalty",
    "num_beam_groups",
    "diversity_penalty",
    // Caches and speed. Guessing tokens ahead keeps the answers.
    "use_cache",
    "cache_implementation",
    "cache_config",
    "max_cache_len",
    "prefill_chunk_size",
    "low_memory",
    "compile_config",
    "disable_compile",
    "continuous_batching_config",
    "use_mtp",
    "is_assistant",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "assistant_confidence_threshold",
    "prompt_lookup_num_tokens",
    "max_matching_ngram_size",
    "assistant_early_exit",
    "assistant_lookbehind",
    "target_lookbehind",
    "speculation_type",
    // What else is returned.
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "output_logits",
    "return_dict_in_generate",
    // Logits that are no numbers, and their sum.
    "remove_invalid_values",
    "renormalize_logits",
    // The file itself.
    "_from_model_config",
    "_commit_hash",
    "transformers_version",
    "chat_format",
];

/// The numbers that change nothing, of keys that otherwise change answers and that the engine does not apply.
const NEUTRAL: [(&str, f64); 13] = [
    ("min_length", 0.0),
    ("min_new_tokens", 0.0),
    ("min_p", 0.0),
    ("typical_p", 1.0),
    ("epsilon_cutoff", 0.0),
    ("eta_cutoff", 0.0),
    ("no_repeat_ngram_size", 0.0),
    ("encoder_no_repeat_ngram_size", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("num_beams", 1.0),
    ("num_return_sequences", 1.0),
    ("penalty_alpha", 0.0),
    ("guidance_scale", 1.0),
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
    /// `"do_sample": true`, for which `top_k` is 50 if the file has none; a repetition penalty applies in any case.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use metatok::engine::Sampling;
    ///
    /// let json = br#"{"do_sample": true, "temperature": 0.6, "top_p": 0.9, "eos_token_id": 2}"#;
    /// let sampling = Sampling::of_generation_config(json)?;
    /// assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k), (0.6, 0.9, NonZeroUsize::new(50)));
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
        if let Some((key, value)) = others.iter().find(|(key, value)| changes_answers(key, value)) {
            let what = format!("{key} is {value}, which this engine does not apply");
            return Err(ErrorKind::Usage(what).with_way_out("state temperature, top_p and top_k yourself"));
        }
        let greedy = Self { repetition_penalty: repetition_penalty.unwrap_or(1.0), ..Self::default() };
        let sampling = match do_sample {
            Some(true) => Self {
                temperature: temperature.unwrap_or(1.0),
                top_p: top_p.unwrap_or(1.0),
                top_k: NonZeroUsize::new(top_k.unwrap_or(USUAL_TOP_K)),
                ..greedy
            },
            Some(false) | None => greedy,
        };
        sampling.check()?;
        Ok(sampling)
    }
}

/// Whether a key may change answers: it does unless it is known to be harmless, or switched off.
fn changes_answers(key: &str, value: &Value) -> bool {
    let is_off = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        number => NEUTRAL.iter().any(|(known, neutral)| *known == key && number.as_f64() == Some(*neutral)),
    };
    !is_off && !HARMLESS.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let greedy = Sampling::default();
        let top_k = NonZeroUsize::new(20);
        #[rustfmt::skip]
        let table = [
            (r#"{"eos_token_id": 2}"#, Ok(greedy)),
            (r#"{"do_sample": false, "temperature": 0.7}"#, Ok(greedy)),
            (r#"{"temperature": 0.7}"#, Ok(greedy)),
            (r#"{"do_sample": true}"#, Ok(Sampling { temperature: 1.0, top_k: NonZeroUsize::new(50), ..greedy })),
            (r#"{"do_sample": true, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05, "num_beams": 1, "min_p": null}"#,
                Ok(Sampling { temperature: 0.7, top_p: 0.8, top_k, repetition_penalty: 1.05, ..greedy })),
            (r#"{"do_sample": true, "top_k": 0}"#, Ok(Sampling { temperature: 1.0, ..greedy })),
            (r#"{"do_sample": true, "min_p": 0.05}"#, Err("min_p is 0.05, which this engine does not apply; state temperature, top_p and top_k yourself")),
            (r#"{"num_beams": 4}"#, Err("num_beams is 4, which this engine does not apply; state temperature, top_p and top_k yourself")),
            (r#"{"do_sample": true, "top_p": 2}"#, Err("top_p is 2, but must be above 0 and at most 1")),
            (r#"{"repetition_penalty": 0}"#, Err("repetition_penalty is 0, but must be a finite number above 0")),
        ];
        for (json, expected) in table {
            let found = Sampling::of_generation_config(json.as_bytes()).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{json}");
        }
    }

    #[test]
    fn keys_that_change_answers_are_refused() {
        for set in [
            r#""min_length": 99"#,
            r#""min_new_tokens": 1"#,
            r#""suppress_tokens": [5]"#,
            r#""begin_suppress_tokens": [5]"#,
            r#""bad_words_ids": [[5]]"#,
            r#""forced_bos_token_id": 0"#,
            r#""forced_eos_token_id": 2"#,
            r#""exponential_decay_length_penalty": [10, 1.1]"#,
            r#""sequence_bias": [[[5], -10.0]]"#,
            r#""constraints": [1]"#,
            r#""force_words_ids": [[5]]"#,
            r#""num_beams": 2"#,
            r#""num_return_sequences": 2"#,
            r#""penalty_alpha": 0.6"#,
            r#""dola_layers": "high""#,
            r#""guidance_scale": 1.5"#,
            r#""min_p": 0.1"#,
            r#""top_h": 0.4"#,
            r#""typical_p": 0.9"#,
            r#""epsilon_cutoff": 0.0003"#,
            r#""eta_cutoff": 0.0003"#,
            r#""no_repeat_ngram_size": 3"#,
            r#""encoder_no_repeat_ngram_size": 3"#,
            r#""encoder_repetition_penalty": 0.9"#,
            r#""token_healing": true"#,
            r#""watermarking_config": {"bias": 2.0}"#,
            r#""stop_strings": ["."]"#,
            r#""max_time": 1.5"#,
            r#""assistant_ensemble_weight": 0.5"#,
            r#""what_comes_next": 1"#,
        ] {
            let found =
                Sampling::of_generation_config(format!("{{{set}}}").as_bytes()).map_err(|error| error.to_string());
            let key = set.split('"').nth(1).unwrap_or_default();
            assert!(found.as_ref().is_err_and(|error| error.starts_with(key)), "{set}: {found:?}");
        }
    }

    /// The files of models: Qwen3, Llama 3.1, Llama 2, Gemma 3, Mistral, DeepSeek-V3, Baichuan 2, Qwen, Phi-3, Falcon, and one with
    /// penalties for beams that it does not use.
    #[test]
    fn files_of_models_are_read() {
        for json in [
            r#"{"bos_token_id": 151643, "do_sample": true, "eos_token_id": [151645, 151643], "pad_token_id": 151643, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "transformers_version": "4.51.0"}"#,
            r#"{"bos_token_id": 128000, "do_sample": true, "eos_token_id": [128001, 128008, 128009], "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.42.3"}"#,
            r#"{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "temperature": 0.9, "max_length": 4096, "top_p": 0.6, "transformers_version": "4.31.0.dev0"}"#,
            r#"{"bos_token_id": 2, "cache_implementation": "hybrid", "do_sample": true, "eos_token_id": [1, 106], "pad_token_id": 0, "top_k": 64, "top_p": 0.95, "transformers_version": "4.50.0.dev0"}"#,
            r#"{"_from_model_config": true, "bos_token_id": 1, "eos_token_id": 2, "transformers_version": "4.42.0.dev0"}"#,
            r#"{"_from_model_config": true, "bos_token_id": 0, "eos_token_id": 1, "do_sample": true, "temperature": 0.6, "top_p": 0.95, "transformers_version": "4.39.3"}"#,
            r#"{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "user_token_id": 195, "assistant_token_id": 196, "max_new_tokens": 2048, "temperature": 0.3, "top_k": 5, "top_p": 0.85, "repetition_penalty": 1.05, "do_sample": true, "transformers_version": "4.29.2"}"#,
            r#"{"chat_format": "chatml", "eos_token_id": 151643, "pad_token_id": 151643, "max_window_size": 24000, "max_new_tokens": 512, "do_sample": true, "top_k": 0, "top_p": 0.8, "repetition_penalty": 1.1, "transformers_version": "4.31.0"}"#,
            r#"{"_from_model_config": true, "bos_token_id": 1, "eos_token_id": [32000, 32001, 32007], "pad_token_id": 32000, "transformers_version": "4.41.2"}"#,
            r#"{"_from_model_config": true, "bos_token_id": 11, "eos_token_id": 11, "transformers_version": "4.32.0"}"#,
            r#"{"bos_token_id": 151643, "do_sample": true, "eos_token_id": [151645, 151643], "temperature": 0.1, "top_k": 30, "top_p": 0.3, "length_penalty": 1.2, "encoder_repetition_penalty": 1.0, "num_beams": 1, "min_length": 0, "suppress_tokens": [], "bad_words_ids": null, "token_healing": false}"#,
        ] {
            let found = Sampling::of_generation_config(json.as_bytes()).map_err(|error| error.to_string());
            assert!(found.is_ok(), "{json}: {found:?}");
        }
    }
}
