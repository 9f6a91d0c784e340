//! Rows of the training set that lack a column: warned about before the first prompt, or rejected with the rows that
//! they are examples of.

use crate::dataset::rows::ADDED;
use crate::dataset::template::TemplateField;
use crate::dataset::{Examples, Row};
use crate::error::{ErrorKind, Place, Result, Setting, Warning, counted, way_out};
use crate::prepared::PreparedDataset;

impl PreparedDataset {
    /// The numbers of a row's examples.
    pub(super) fn example_ids(&self, row: &Row, examples: Examples) -> Result<Vec<i64>> {
        // Two rows that are the same in their files differ in these.
        let added = if self.options.arrow_compat { &ADDED[..] } else { &[] };
        examples.of_ignoring(added, row, &self.train)
    }

    /// The same; an example that lacks a column is an error, if that is requested.
    pub(super) fn checked_example_ids(&self, row: &Row, examples: Examples) -> Result<Vec<i64>> {
        let ids = self.example_ids(row, examples)?;
        if self.options.strict && self.missing_in_examples.lacks_any() {
            let fields = self.dataset.example_fields();
            ids.iter().try_for_each(|id| self.check_example(*id, &fields))?;
        }
        Ok(ids)
    }

    fn check_example(&self, id: i64, fields: &[TemplateField]) -> Result<()> {
        let at = if id < 0 { id + self.train.len() as i64 } else { id };
        // A number without a row is an error of its own.
        let Some(example) = usize::try_from(at).ok().and_then(|at| self.train.get(at)) else { return Ok(()) };
        match fields.iter().find_map(|field| field.missing_in(example)) {
            Some(missing) => {
                let missing = missing.at(Place::file(&self.dataset.name)).at(format!("row {at} of the examples"));
                Err(missing.into_error(ErrorKind::Row))
            }
            None => Ok(()),
        }
    }

    /// Warnings about columns that rows of the examples lack, unless that is an error.
    pub(super) fn example_warnings(&self) -> Vec<Warning> {
        let missing = &self.missing_in_examples;
        let nowhere = missing.nowhere_found().filter(|_| self.leaves_unfilled());
        let lacking = missing.somewhere().chain(nowhere.map(|field| (field, missing.rows())));
        let warning = |(field, lacking): (&TemplateField, u64)| {
            let lack = if lacking == 1 { "lacks" } else { "lack" };
            let rows = counted(missing.rows(), "row");
            let what = format!("{lacking} of {rows} for examples {lack} the column {:?}", field.column);
            let way_out = match self.options.strict {
                true => way_out!["rows with such examples are rejected"],
                false => {
                    let stay = "there such fields stay, or are filled from the row that is asked (";
                    way_out![stay, Setting::STRICT, " rejects rows with such examples)"]
                }
            };
            let warning = Warning::new("missing-column", what).with_way_out(way_out);
            warning.at(field.place.clone()).at(Place::file(&self.dataset.name))
        };
        lacking.map(warning).collect()
    }

    /// Rejects examples without a column that each of them needs: the training set is then of another dataset.
    pub(super) fn check_example_columns(&self) -> Result<()> {
        let Some((_, warning)) = self.missing_in_examples.everywhere().filter(|_| !self.leaves_unfilled()) else {
            return Ok(());
        };
        let error = warning.into_error(|message| ErrorKind::Dataset(message + "; no row for examples has it"));
        let way_out = way_out!["use the column's name in the rows (", Setting::COMPAT, " leaves such fields unfilled)"];
        Err(error.with_way_out(way_out).at(Place::file(&self.dataset.name)))
    }

    /// Whether fields stay as they are if no row has their column, as in the references.
    pub(super) fn leaves_unfilled(&self) -> bool {
        self.options.compat || self.options.arrow_compat
    }
}
