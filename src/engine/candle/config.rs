//! A checkpoint's config.json.

use serde::Deserialize;

use crate::error::{ErrorKind, Result};

/// The supported architectures. They differ in biases and norms, which the weights show.
const ARCHITECTURES: [&str; 4] = ["LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"];

/// The keys of config.json that are read, as written by `transformers`.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    architectures: Vec<String>,
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    pub(super) rms_norm_eps: f32,
    #[serde(default = "silu")]
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default)]
    pub(super) tie_word_embeddings: bool,
    rope_theta: Option<f64>,
    /// Before version 5 of `transformers`.
    rope_scaling: Option<Rope>,
    rope_parameters: Option<Rope>,
    sliding_window: Option<usize>,
    use_sliding_window: Option<bool>,
}

/// How positions rotate queries and keys.
#[derive(Debug, Clone, Default, Deserialize)]
struct Rope {
    #[serde(alias = "type")]
    rope_type: Option<String>,
    rope_theta: Option<f64>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
}

fn silu() -> String {
    "silu".into()
}

impl Config {
    pub(super) fn new(json: &[u8]) -> Result<Self> {
        let config: Self = serde_json::from_slice(json).map_err(|error| crate::wording::in_file(&error))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let kv_heads = self.num_key_value_heads();
        let what = if !self.architectures.iter().any(|name| ARCHITECTURES.contains(&name.as_str())) {
            let named = if self.architectures.is_empty() { "none".into() } else { self.architectures.join(", ") };
            format!("architectures names {named}, but metatok supports {}", ARCHITECTURES.join(", "))
        } else if self.hidden_act != "silu" {
            format!("hidden_act is {:?}, but metatok only supports \"silu\"", self.hidden_act)
        } else if self.num_hidden_layers == 0 {
            "num_hidden_layers is 0, but a model needs at least one layer".into()
        } else if kv_heads == 0 || self.num_attention_heads == 0 || !self.num_attention_heads.is_multiple_of(kv_heads) {
            format!("{} attention heads cannot share {kv_heads} key-value heads", self.num_attention_heads)
        } else if self.head_dim() == 0 || !self.head_dim().is_multiple_of(2) {
            format!("heads of size {} cannot be rotated in pairs", self.head_dim())
        } else if self.num_attention_heads.checked_mul(self.head_dim()).is_none() {
            format!("{} attention heads of size {} are too large", self.num_attention_heads, self.head_dim())
        } else {
            return Ok(());
        };
        Err(ErrorKind::UnsupportedModel(what).into())
    }

    pub(super) fn num_key_value_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    pub(super) fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    /// How many tokens a row may have. If attention would slide over more, only those before that.
    pub(super) fn max_seq_len(&self) -> usize {
        let slides = self.use_sliding_window.unwrap_or(self.sliding_window.is_some());
        let window = self.sliding_window.filter(|_| slides).unwrap_or(usize::MAX);
        self.max_position_embeddings.min(window)
    }

    /// How fast each pair of numbers rotates, in radians per position.
    pub(super) fn inv_freq(&self) -> Result<Vec<f32>> {
        let rope = self.rope_parameters.clone().or_else(|| self.rope_scaling.clone()).unwrap_or_default();
        let theta = self.rope_theta.or(rope.rope_theta).unwrap_or(10_000.0);
        let dim = self.head_dim();
        let plain = (0..dim).step_by(2).map(|i| 1.0 / theta.powf(i as f64 / dim as f64));
        let needed = |value: Option<f64>, key: &str| {
            value.ok_or_else(|| ErrorKind::UnsupportedModel(format!("rope scaling has no {key}")))
        };
        let scaled: Vec<f64> = match rope.rope_type.as_deref() {
            None | Some("default") => plain.collect(),
            Some("linear") => {
                let factor = needed(rope.factor, "factor")?;
                plain.map(|freq| freq / factor).collect()
            }
            Some("llama3") => {
                let factor = needed(rope.factor, "factor")?;
                let low = needed(rope.low_freq_factor, "low_freq_factor")?;
                let high = needed(rope.high_freq_factor, "high_freq_factor")?;
                let context = needed(rope.original_max_position_embeddings, "original_max_position_embeddings")?;
                plain.map(|freq| llama3(freq, context * freq / std::f64::consts::TAU, factor, low, high)).collect()
            }
            Some(other) => {
                let what = format!("rope type {other:?} is not supported; choose default, linear or llama3");
                return Err(ErrorKind::UnsupportedModel(what).into());
            }
        };
        Ok(scaled.into_iter().map(|freq| freq as f32).collect())
    }
}

/// Llama 3.1: fast rotations within the old context stay, slow ones are slowed down, and between these there is a ramp.
fn llama3(freq: f64, turns: f64, factor: f64, low: f64, high: f64) -> f64 {
    let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
    freq / factor * (1.0 - kept) + freq * kept
}
