//! The lines of inputs in batches: rows of a dataset with their examples, or conversations.

use crate::error::Result;
use crate::input::{Batches, Input, batches};
use crate::prepared::PreparedDataset;

/// The batches of the inputs, up to so many lines.
///
/// # Errors
/// Where examples lack their rows; where the dataset picks among all rows, what reading them says.
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
