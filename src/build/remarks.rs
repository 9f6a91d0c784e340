//! Remarks about the input at the end: what is left out, what rows lack, and repeated ids.

use crate::build::notes::Notes;
use crate::build::repeated_ids::RepeatedIds;
use crate::dataset::MissingColumns;
use crate::error::{Result, Warning};
use crate::prepared::PreparedDataset;

/// Remarks about the input.
#[derive(Debug, Default)]
pub struct InputRemarks {
    pub(crate) notes: Notes,
    pub(crate) ids: RepeatedIds,
    pub(crate) missing: MissingColumns,
    has_warned: bool,
}

impl InputRemarks {
    /// A warning, unless there was an earlier one.
    pub(crate) fn first_warning(&mut self, warning: impl FnOnce() -> Option<Warning>) -> Option<Warning> {
        if self.has_warned {
            return None;
        }
        let warning = warning();
        self.has_warned = warning.is_some();
        warning
    }

    /// Keys and columns that are left out.
    pub fn notes(&self) -> Vec<Warning> {
        self.notes.warnings()
    }

    /// Warnings about the rows, after all were read: answers to judge without a row, columns that some rows lack, and
    /// repeated ids.
    ///
    /// # Errors
    /// If no row has a column of the template, or an answer: then the dataset or the answers are for other rows.
    pub fn check(&self, dataset: Option<&PreparedDataset>) -> Result<Vec<Warning>> {
        let mut notes = Vec::new();
        if let Some(dataset) = dataset {
            notes.extend(dataset.check_judged()?);
            notes.extend(dataset.check_missing(&self.missing)?);
        }
        notes.extend(self.ids.note());
        Ok(notes)
    }
}
