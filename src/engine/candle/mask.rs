//! Which tokens see which: as what is added to attention's scores.

use candle_core::{Device, Result, Tensor};
use ndarray::{ArrayView1, ArrayView2};

/// For the tokens from `start` to `end` of each row, over all tokens up to `end`. Tokens see those before them of the
/// same number, and themselves; zero is padding, which sees itself alone, since a row of nothing has no softmax.
pub(super) fn causal(numbers: ArrayView2<'_, u32>, start: usize, end: usize, device: &Device) -> Result<Tensor> {
    let mut mask = Vec::with_capacity(numbers.nrows() * (end - start) * end);
    for row in numbers.rows() {
        for query in start..end {
            mask.extend((0..end).map(|key| if sees(row, query, key) { 0.0 } else { f32::NEG_INFINITY }));
        }
    }
    Tensor::from_vec(mask, (numbers.nrows(), 1, end - start, end), device)
}

fn sees(row: ArrayView1<'_, u32>, query: usize, key: usize) -> bool {
    query == key || (key < query && row[key] != 0 && row[key] == row[query])
}

/// For one further token of each row, over so many tokens of which the first are padding; none if there is none.
pub(super) fn behind(padding: &[usize], tokens: usize, device: &Device) -> Result<Option<Tensor>> {
    if padding.iter().all(|padding| *padding == 0) {
        return Ok(None);
    }
    let mask = padding
        .iter()
        .flat_map(|&padding| (0..tokens).map(move |key| if key < padding { f32::NEG_INFINITY } else { 0.0 }));
    Tensor::from_vec(mask.collect(), (padding.len(), 1, 1, tokens), device).map(Some)
}
