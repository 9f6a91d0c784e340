//! The keys and values of all tokens so far, by layer, so that each is computed once.

use candle_core::{DType, Result, Tensor};

/// Grows by at least this many tokens at a time, because growing copies everything.
const GROWTH: usize = 64;

/// Room for the tokens of a batch whose rows all have the same number of tokens.
pub(super) struct Cache {
    layers: Vec<Option<Layer>>,
    len: usize,
}

/// Each has the dimensions batch, heads, tokens, and numbers per head.
struct Layer {
    keys: Tensor,
    values: Tensor,
}

impl Cache {
    pub(super) fn new(layers: usize) -> Self {
        Self { layers: (0..layers).map(|_| None).collect(), len: 0 }
    }

    /// How many tokens are in it.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds the next tokens of a layer, and returns all of them. [`Self::advance`] follows after the last layer.
    pub(super) fn append(&mut self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let end = self.len + keys.dim(2)?;
        let grown = match &self.layers[layer] {
            Some(layer) if layer.keys.dim(2)? >= end => None,
            Some(layer) => {
                let (keys, values) = (layer.keys.narrow(2, 0, self.len)?, layer.values.narrow(2, 0, self.len)?);
                let room = |old: &Tensor| with_room(&old.contiguous()?, end.max(2 * self.len));
                Some(Layer { keys: room(&keys)?, values: room(&values)? })
            }
            None => {
                let room = |like: &Tensor| zeros(like, end);
                Some(Layer { keys: room(keys)?, values: room(values)? })
            }
        };
        let slot = &mut self.layers[layer];
        if let Some(grown) = grown {
            *slot = Some(grown);
        }
        let Some(layer) = slot else { candle_core::bail!("a layer without room") };
        layer.keys.slice_set(&keys.contiguous()?, 2, self.len)?;
        layer.values.slice_set(&values.contiguous()?, 2, self.len)?;
        Ok((layer.keys.narrow(2, 0, end)?, layer.values.narrow(2, 0, end)?))
    }

    /// Counts this many further tokens, which are now in every layer.
    pub(super) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }

    /// Keeps the first tokens.
    pub(super) fn truncate(&mut self, tokens: usize) {
        self.len = self.len.min(tokens);
    }
}

fn zeros(like: &Tensor, tokens: usize) -> Result<Tensor> {
    let (batch, heads, _, dim) = like.dims4()?;
    let dtype: DType = like.dtype();
    Tensor::zeros((batch, heads, tokens.next_multiple_of(GROWTH), dim), dtype, like.device())
}

fn with_room(old: &Tensor, tokens: usize) -> Result<Tensor> {
    let new = zeros(old, tokens)?;
    new.slice_set(old, 2, 0)?;
    Ok(new)
}
