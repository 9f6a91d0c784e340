//! The totals of all batches, and the remarks about them.

use std::collections::HashSet;

use crate::build::InputRemarks;
use crate::build::batch::BuiltBatch;
use crate::build::written::Written;
use crate::dataset::PickedRow;
use crate::error::{Error, Warning};
use crate::input::Rejected;
use crate::tokenizer::TokenId;

/// The totals of the batches, added in order.
#[derive(Debug, Default)]
pub struct BuildTotals {
    /// How much was written.
    pub written: Written,
    /// Remarks about the input.
    pub remarks: InputRemarks,
    /// Those of the rows that are asked several times that were rejected.
    rejected_rows: HashSet<usize>,
}

/// The new remarks of a batch, which no earlier batch had.
#[derive(Debug, Default)]
#[must_use = "it has the lines that are not valid prompts"]
pub struct BatchRemarks {
    /// Special tokens that the tokenizer would have added before a prompt, but that the prompt already had.
    pub omitted: Vec<TokenId>,
    /// Those that it would have added after a prompt to continue.
    pub omitted_end: Vec<TokenId>,
    /// The first warnings of each code about a row.
    pub warnings: Vec<Warning>,
    /// The lines that are not valid prompts. A row that is asked several times is among those of all batches only once.
    pub rejected: Vec<Rejected>,
    /// The error that ended reading after these lines, if any.
    pub error: Option<Error>,
}

impl BuildTotals {
    /// Adds the next batch.
    pub fn add(&mut self, batch: BuiltBatch) -> BatchRemarks {
        let BuiltBatch { written, input, ids, missing, warnings, notes, rejected, error, .. } = batch;
        let new = |before: &[TokenId], now: &[TokenId]| if before.is_empty() { now.to_vec() } else { Vec::new() };
        let omitted = new(&self.written.omitted, &written.omitted);
        let omitted_end = new(&self.written.omitted_end, &written.omitted_end);
        self.written.add(written);
        self.remarks.notes.append(notes);
        self.remarks.missing.add(missing);
        if let Some(input) = &input {
            self.remarks.ids.see(input, ids);
        }
        let warnings = self.remarks.new_warnings(warnings);
        let mut is_new = |pick: PickedRow| pick.repeat.is_none() || self.rejected_rows.insert(pick.row);
        let rejected = rejected.into_iter().filter_map(|(pick, line)| is_new(pick).then_some(line)).collect();
        BatchRemarks { omitted, omitted_end, warnings, rejected, error }
    }
}
