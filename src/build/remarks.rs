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
    /// The codes of the warnings about rows.
    told: Vec<&'static str>,
}

impl InputRemarks {
    /// Whether there was no warning with this code.
    pub(crate) fn is_new(&self, code: &str) -> bool {
        !self.told.contains(&code)
    }

    /// The first warning of each code.
    pub(crate) fn new_warnings(&mut self, mut warnings: Vec<Warning>) -> Vec<Warning> {
        warnings.retain(|warning| self.is_new(warning.code()));
        self.told.extend(warnings.iter().map(Warning::code));
        warnings
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
