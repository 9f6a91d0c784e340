//! Llama-like models: from token ids to the logits of the next token.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::rms_norm;
use candle_nn::rotary_emb::rope;
use candle_nn::{Linear, Module};

use super::attention::Attention;
use super::cache::Cache;
use super::config::Config;
use super::failed::failed;
use super::weights::Weights;

/// A model's weights, and their structure.
pub(super) struct Transformer {
    embeddings: Tensor,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
    /// Radians per position.
    inv_freq: Tensor,
    heads: usize,
    key_value_heads: usize,
    head_dim: usize,
}

struct Layer {
    input_norm: Norm,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    /// Qwen3 has these.
    query_norm: Option<Norm>,
    key_norm: Option<Norm>,
    mlp_norm: Norm,
    gate: Linear,
    up: Linear,
    down: Linear,
}

struct Norm {
    weight: Tensor,
    eps: f32,
}

impl Norm {
    fn forward(&self, hidden: &Tensor) -> Result<Tensor> {
        rms_norm(&hidden.contiguous()?, &self.weight, self.eps)
    }
}

impl Transformer {
    pub(super) fn new(config: &Config, mut weights: Weights, device: &Device) -> crate::Result<Self> {
        let (hidden, dim) = (config.hidden_size, config.head_dim());
        let (query, key) = (config.num_attention_heads * dim, config.num_key_value_heads() * dim);
        let eps = config.rms_norm_eps;
        let norm = |weights: &mut Weights, name: &str, size| -> crate::Result<Norm> {
            Ok(Norm { weight: weights.take(&format!("{name}.weight"), &[size])?, eps })
        };
        let linear =
            |weights: &mut Weights, name: &str, to: Option<usize>, from: Option<usize>| -> crate::Result<Linear> {
                let weight = weights.take_matrix(&format!("{name}.weight"), to, from)?;
                Ok(Linear::new(weight, weights.take_if_there(&format!("{name}.bias"))))
            };
        let embeddings = weights.take("model.embed_tokens.weight", &[config.vocab_size, hidden])?;
        weights.check_layers(config.num_hidden_layers)?;
        let mut layers = Vec::with_capacity(config.num_hidden_layers);
        for i in 0..config.num_hidden_layers {
            let place = format!("model.layers.{i}");
            let [attention, mlp] = ["self_attn", "mlp"].map(|part| format!("{place}.{part}"));
            let head_norm = |weights: &mut Weights, name: &str| {
                let name = format!("{attention}.{name}");
                let is_there = weights.has(&format!("{name}.weight"));
                is_there.then(|| norm(weights, &name, dim)).transpose()
            };
            let (query_norm, key_norm) = (head_norm(&mut weights, "q_norm")?, head_norm(&mut weights, "k_norm")?);
            layers.push(Layer {
                input_norm: norm(&mut weights, &format!("{place}.input_layernorm"), hidden)?,
                query: linear(&mut weights, &format!("{attention}.q_proj"), Some(query), Some(hidden))?,
                key: linear(&mut weights, &format!("{attention}.k_proj"), Some(key), Some(hidden))?,
                value: linear(&mut weights, &format!("{attention}.v_proj"), Some(key), Some(hidden))?,
                output: linear(&mut weights, &format!("{attention}.o_proj"), Some(hidden), Some(query))?,
                query_norm,
                key_norm,
                mlp_norm: norm(&mut weights, &format!("{place}.post_attention_layernorm"), hidden)?,
                gate: linear(&mut weights, &format!("{mlp}.gate_proj"), None, Some(hidden))?,
                up: linear(&mut weights, &format!("{mlp}.up_proj"), None, Some(hidden))?,
                down: linear(&mut weights, &format!("{mlp}.down_proj"), Some(hidden), None)?,
            });
        }
        let norm = norm(&mut weights, "model.norm", hidden)?;
        let head = match config.tie_word_embeddings {
            true => {
                weights.take_if_there("lm_head.weight");
                Linear::new(embeddings.clone(), None)
            }
            false => linear(&mut weights, "lm_head", Some(config.vocab_size), Some(hidden))?,
        };
        weights.finish()?;
        let inv_freq = Tensor::new(config.inv_freq()?, device).map_err(failed)?;
        Ok(Self {
            embeddings,
            layers,
            norm,
            head,
            inv_freq,
            heads: config.num_attention_heads,
            key_value_heads: config.num_key_value_heads(),
            head_dim: dim,
        })
    }

    pub(super) fn cache(&self) -> Cache {
        Cache::new(self.layers.len())
    }

    /// How many scores attention has for each pair of a token and one that it sees.
    pub(super) fn heads(&self) -> usize {
        self.heads
    }

    /// The last layer's output for the next tokens of each row. Ids and positions have the dimensions rows and tokens.
    pub(super) fn forward(
        &self,
        input_ids: &Tensor,
        position_ids: &Tensor,
        attention: &mut dyn Attention,
    ) -> Result<Tensor> {
        let (batch, tokens) = input_ids.dims2()?;
        let dtype = self.embeddings.dtype();
        let angles = position_ids.to_dtype(DType::F32)?.unsqueeze(2)?.broadcast_mul(&self.inv_freq)?;
        let rotation = (angles.cos()?.to_dtype(dtype)?, angles.sin()?.to_dtype(dtype)?);
        let ids = input_ids.flatten_all()?;
        let mut hidden = self.embeddings.index_select(&ids, 0)?.reshape((batch, tokens, ()))?;
        for (i, layer) in self.layers.iter().enumerate() {
            let attended = self.attend((i, layer), &layer.input_norm.forward(&hidden)?, &rotation, attention)?;
            hidden = (hidden + attended)?;
            hidden = (&hidden + layer.mlp(&layer.mlp_norm.forward(&hidden)?)?)?;
        }
        attention.advance(tokens);
        self.norm.forward(&hidden)
    }

    /// The logits after each of these tokens.
    pub(super) fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        self.head.forward(&hidden.contiguous()?)?.to_dtype(DType::F32)
    }

    fn attend(
        &self,
        (i, layer): (usize, &Layer),
        hidden: &Tensor,
        (cos, sin): &(Tensor, Tensor),
        attention: &mut dyn Attention,
    ) -> Result<Tensor> {
        let (batch, tokens, _) = hidden.dims3()?;
        let by_head = |linear: &Linear, heads, norm: Option<&Norm>| -> Result<Tensor> {
            let split = linear.forward(hidden)?.reshape((batch, tokens, heads, self.head_dim))?;
            let split = norm.map_or(Ok(split.clone()), |norm| norm.forward(&split))?;
            split.transpose(1, 2)?.contiguous()
        };
        let query = rope(&by_head(&layer.query, self.heads, layer.query_norm.as_ref())?, cos, sin)?;
        let key = rope(&by_head(&layer.key, self.key_value_heads, layer.key_norm.as_ref())?, cos, sin)?;
        let value = by_head(&layer.value, self.key_value_heads, None)?;
        let attended = attention.attend(i, &query, &key, &value)?;
        layer.output.forward(&attended.transpose(1, 2)?.contiguous()?.flatten_from(D::Minus2)?)
    }
}

impl Layer {
    fn mlp(&self, hidden: &Tensor) -> Result<Tensor> {
        self.down.forward(&(self.gate.forward(hidden)?.silu()? * self.up.forward(hidden)?)?)
    }
}
