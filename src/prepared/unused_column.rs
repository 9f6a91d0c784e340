//! Columns that a dataset's templates seem to name, but do not use.

use crate::dataset::template::{MultimodalTemplate, TemplateText, stray_braces};
use crate::dataset::{Dataset, Row};
use crate::error::{Place, Warning};

/// A column that a template names but does not use.
#[derive(Debug)]
pub(super) struct UnusedColumn {
    /// None if it matters whatever columns a row has.
    column: Option<String>,
    pub(super) warning: Warning,
}

impl UnusedColumn {
    /// The columns that the templates of a dataset name but do not use.
    pub(super) fn of(dataset: &Dataset) -> Vec<Self> {
        // AISBench fills no other fields there, also where a row has no such column.
        let template = dataset.task.prompt_template.as_ref();
        let is_multimodal = template.is_some_and(|template| template.downcast_ref::<MultimodalTemplate>().is_some());
        let at = |warning: Warning, place: Place| warning.at(place).at(Place::file(&dataset.name));
        let unfilled = dataset.unfilled_fields().into_iter().map(|field| {
            let warning = Warning::new("unfilled-field", field.never_filled());
            let warning = at(warning.with_way_out(dataset.unfilled_help(&field)), field.place);
            Self { column: Some(field.column).filter(|_| !is_multimodal), warning }
        });
        let mut all: Vec<Self> = unfilled.collect();
        for TemplateText { place, text } in dataset.texts() {
            all.extend(stray_braces(&text, |_| true).into_iter().map(|stray| {
                let warning = Warning::new("stray-braces", stray.message()).with_way_out(stray.help());
                Self { column: Some(stray.name.to_owned()), warning: at(warning, place.as_str().into()) }
            }));
        }
        all
    }

    pub(super) fn is_in(&self, row: &Row) -> bool {
        self.column.as_ref().is_none_or(|column| row.get(column).is_some())
    }
}
