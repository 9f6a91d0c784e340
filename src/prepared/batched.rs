//! The lines of inputs in batches: rows of a dataset with their examples, or conversations.

use crate::error::Result;
use crate::input::{Batches, Input, batches};
use crate::prepared::PreparedDataset;

/// The batches of the inputs, up to this many lines.
///
/// # Errors
/// If examples lack their rows; if the dataset picks from all rows, errors of reading them.
pub(crate) fn line_batches(
    dataset: Option<&PreparedDataset>,
    inputs: Vec<Input>,
    max_line_bytes: usize,
    limit: Option<usize>,
) -> Result<Batches> {
    let rows = match dataset {
        Some(dataset) => Some((dataset.dataset(), dataset.retriever()?)),
        None => None,
    };
    batches(inputs, max_line_bytes, rows, limit)
}
