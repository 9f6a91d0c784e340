//! Tokens side by side, and which of them see which.

use candle_core::{Device, Result, Tensor};
use ndarray::{Array2, ArrayView1, Axis, Slice, Zip};

use crate::batch::{Batch, Pack, PackPosition};
use crate::tokenizer::TokenId;

/// Prompts as rows of one width.
pub(super) struct Rows {
    /// Zero for padding: the padding id may not be an id of the model at all.
    input_ids: Array2<u32>,
    position_ids: Array2<u32>,
    /// Tokens with the same number belong together; zero is padding.
    numbers: Array2<u32>,
}

impl Rows {
    pub(super) fn of_batch(batch: &Batch<u32>) -> Self {
        Self::new(&batch.input_ids, batch.position_ids(), batch.attention_mask())
    }

    pub(super) fn of_pack(pack: &Pack<u32>) -> Self {
        let mut numbers = Array2::zeros(pack.input_ids.dim());
        for (&PackPosition { row, start, len }, number) in pack.places.iter().zip(1..) {
            numbers.row_mut(row).slice_axis_mut(Axis(0), Slice::from(start..start + len)).fill(number);
        }
        Self::new(&pack.input_ids, pack.position_ids.clone(), numbers)
    }

    fn new(input_ids: &Array2<u32>, position_ids: Array2<u32>, numbers: Array2<u32>) -> Self {
        let input_ids = Zip::from(input_ids).and(&numbers).map_collect(|id, number| if *number == 0 { 0 } else { *id });
        Self { input_ids, position_ids, numbers }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.input_ids.nrows()
    }

    /// How many tokens a row has, padding included.
    pub(super) fn width(&self) -> usize {
        self.input_ids.ncols()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = TokenId> {
        self.input_ids.iter().copied()
    }

    /// The ids and positions of these columns, and the mask that is added to attention's scores: for their tokens, over
    /// all tokens up to the last of them.
    pub(super) fn piece(&self, start: usize, end: usize, device: &Device) -> Result<(Tensor, Tensor, Tensor)> {
        let tensor = |array: &Array2<u32>| {
            let piece = array.slice_axis(Axis(1), Slice::from(start..end)).iter().copied().collect();
            Tensor::from_vec(piece, (self.len(), end - start), device)
        };
        let mut mask = Vec::with_capacity(self.len() * (end - start) * end);
        for row in self.numbers.rows() {
            for query in start..end {
                mask.extend((0..end).map(|key| if sees(row, query, key) { 0.0 } else { f32::NEG_INFINITY }));
            }
        }
        let mask = Tensor::from_vec(mask, (self.len(), 1, end - start, end), device)?;
        Ok((tensor(&self.input_ids)?, tensor(&self.position_ids)?, mask))
    }
}

/// Tokens see those of their number before them, and themselves; so does padding, since what sees nothing has no
/// softmax.
fn sees(numbers: ArrayView1<'_, u32>, query: usize, key: usize) -> bool {
    query == key || (key < query && numbers[key] != 0 && numbers[key] == numbers[query])
}
