//! The rows before each row, as examples.

use std::sync::Arc;

use crate::dataset::retriever::{Examples, Retriever};
use crate::error::Result;

/// The `k` rows before row `i`; near the start, the last rows of the training set come first. The numbers are those of
/// the test set, although they are looked up in the training set: a quirk of the reference.
pub(crate) struct SlidingWindow {
    pub(crate) k: usize,
    pub(crate) train: usize,
}

impl Retriever for SlidingWindow {
    fn retrieve(&mut self, index: usize) -> Result<Examples> {
        let (k, index, train) = (self.k as i64, index as i64, self.train as i64);
        // Only when the row's turn comes, because many rows wait at a time.
        Ok(Examples::ByRow(Arc::new(move |_| match index >= k {
            true => (index - k..index).collect(),
            false => (train - (k - index)..train).chain(0..index).collect(),
        })))
    }
}
