//! Attention, with the keys and values of earlier tokens in one cache for all rows, or in one cache for each row.

use candle_core::{DType, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::cache::Cache;

/// Where the keys and values of earlier tokens are.
pub(super) trait Attention {
    /// The attention of the next tokens, in this layer. All have the dimensions rows, heads, tokens, and numbers per
    /// head.
    fn attend(&mut self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor>;

    /// Counts this many further tokens, which are now in every layer.
    fn advance(&mut self, tokens: usize);
}

/// All rows have the same number of tokens, and a mask defines which tokens see which.
pub(super) struct Masked<'c> {
    pub(super) cache: &'c mut Cache,
    /// Added to the scores. Its dimensions are rows, 1, tokens, and all tokens that are in the cache then.
    pub(super) mask: Tensor,
}

impl Attention for Masked<'_> {
    fn attend(&mut self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let (keys, values) = self.cache.append(layer, key, value)?;
        attend(query, &keys, &values, Some(&self.mask))
    }

    fn advance(&mut self, tokens: usize) {
        self.cache.advance(tokens);
    }
}

/// Each row is one token, which sees all tokens in its own cache. A row without a cache sees nothing.
///
/// No shape depends on another row, so neither does the rounding.
pub(super) struct Separate<'c> {
    pub(super) caches: Vec<Option<&'c mut Cache>>,
}

impl Attention for Separate<'_> {
    fn attend(&mut self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let mut rows = Vec::with_capacity(self.caches.len());
        for (row, cache) in self.caches.iter_mut().enumerate() {
            let of_row = |all: &Tensor| all.narrow(0, row, 1);
            rows.push(match cache {
                None => of_row(query)?.zeros_like()?,
                Some(cache) => {
                    let (keys, values) = cache.append(layer, &of_row(key)?, &of_row(value)?)?;
                    attend(&of_row(query)?, &keys, &values, None)?
                }
            });
        }
        Tensor::cat(&rows, 0)
    }

    fn advance(&mut self, tokens: usize) {
        self.caches.iter_mut().flatten().for_each(|cache| cache.advance(tokens));
    }
}

fn attend(query: &Tensor, keys: &Tensor, values: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (batch, heads, tokens, head_dim) = query.dims4()?;
    let (key_value_heads, all) = (keys.dim(1)?, keys.dim(2)?);
    // The heads that share keys become further rows, so that keys and values need not be repeated.
    let shared = heads / key_value_heads * tokens;
    let query = query.reshape((batch, key_value_heads, shared, head_dim))?;
    let scores = (query.matmul(&keys.transpose(2, 3)?)? * (head_dim as f64).powf(-0.5))?;
    let mut scores = scores.reshape((batch, heads, tokens, all))?.to_dtype(DType::F32)?;
    if let Some(mask) = mask {
        scores = scores.broadcast_add(mask)?;
    }
    let weights = softmax_last_dim(&scores)?.to_dtype(values.dtype())?;
    let weights = weights.reshape((batch, key_value_heads, shared, all))?;
    weights.matmul(values)?.reshape((batch, heads, tokens, head_dim))
}
