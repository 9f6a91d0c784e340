//! Rows of the training set that lack a column: warned about before the first prompt, or rejected with the rows that
//! they are examples of.

use crate::dataset::rows::ADDED;
use crate::dataset::template::TemplateField;
use crate::dataset::{Examples, Row};
use crate::error::{ErrorKind, Place, Result, Setting, Warning, counted, way_out};
use crate::prepared::PreparedDataset;
use crate::prepared::doubtful_rows::{MISSING, lack_column};

impl PreparedDataset {
    /// The numbers of a row's examples.
    pub(super) fn example_ids(&self, row: &Row, examples: Examples) -> Result<Vec<i64>> {
        // Two rows that are the same in their files differ in these.
        let added = if self.options.arrow_compat { &ADDED[..] } else { &[] };
        examples.of_ignoring(added, row, &self.train)
    }

    /// The numbers of a row's examples. An example that lacks a column is an error, if that is requested.
    pub(super) fn checked_example_ids(&self, row: &Row, examples: Examples) -> Result<Vec<i64>> {
        let ids = self.example_ids(row, examples)?;
        if self.options.strict && self.missing_in_examples.lacks_any() {
            let mut fields = self.dataset.example_fields();
            if self.fills_examples() {
                fields.retain(|field| row.get(&field.column).is_none());
            }
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

    /// Warnings about columns that rows of the examples lack.
    pub(super) fn example_warnings(&self) -> Vec<Warning> {
        let (missing, fields) = (&self.missing_in_examples, self.dataset.example_fields());
        let nowhere = missing.nowhere_found().map(|field| (field, missing.rows()));
        let warning = |(field, lacking): (&TemplateField, u64)| {
            let rows = format!("{} for examples", counted(missing.rows(), "row"));
            let what = lack_column(lacking, &rows, &field.column);
            let (filled, lacking_too) = match self.fills_examples() {
                true => (", or are filled from the row that is asked", " that also lack it"),
                false => ("", ""),
            };
            let stay = format!("there such fields stay{filled}");
            let way_out = match (self.options.strict, fields.contains(field)) {
                (true, true) => way_out![format!("rows with such examples{lacking_too} are rejected")],
                (false, true) => {
                    way_out![stay, " (", Setting::STRICT, format!(" rejects rows with such examples{lacking_too})")]
                }
                (_, false) => way_out![stay],
            };
            let warning = Warning::new(MISSING, what).with_way_out(way_out);
            warning.at(field.place.clone()).at(Place::file(&self.dataset.name))
        };
        missing.somewhere().chain(nowhere).map(warning).collect()
    }

    /// Whether fields that an example leaves are filled from the row that is asked.
    fn fills_examples(&self) -> bool {
        self.dataset.task.template().is_ok_and(|template| template.fills_examples())
    }
}
