//! Rows that lack a column or lose turns: warned about, counted, or rejected.

use crate::dataset::Row;
use crate::dataset::prompter::RowPrompt;
use crate::dataset::template::{MissingColumns, TemplateField};
use crate::error::{ErrorKind, Place, Result, Setting, Warning, counted, way_out};
use crate::prepared::PreparedDataset;

/// The codes of warnings.
pub(super) const MISSING: &str = "missing-column";
const UNEVEN: &str = "uneven-turns";
const NO_ANSWERS: &str = "no-answers";

impl PreparedDataset {
    /// Rejects such rows instead of warning, if requested.
    pub(super) fn check(&self, row: &Row) -> Result<()> {
        if !self.options.strict {
            return Ok(());
        }
        let lost = || self.uneven_turns(row).or_else(|| self.no_answers(row));
        match self.missing_column(row).or_else(|| self.not_kept(row)).or_else(lost) {
            Some(warning) => Err(warning.into_error(ErrorKind::Row)),
            None => Ok(()),
        }
    }

    /// Rejects a dialogue whose last question is not asked, if requested.
    pub(super) fn check_asked(&self, leaves_question: bool) -> Result<()> {
        match leaves_question && self.options.strict {
            true => Err(question_left_out().into_error(ErrorKind::Row)),
            false => Ok(()),
        }
    }

    /// Counts the columns that rows lack, unless such rows are rejected.
    pub fn missing(&self) -> MissingColumns {
        let mut fields = self.dataset.expanded_columns();
        if !self.options.strict {
            fields.extend(self.fields.iter().cloned().chain(self.kept.fields()));
        }
        MissingColumns::new(fields).with_possible(self.dataset.possible_fields()).naming(self.dataset.named_columns())
    }

    /// Warnings at the end about columns that some rows lacked.
    ///
    /// # Errors
    /// If no row has one: then the dataset file is for other rows.
    pub fn check_missing(&self, missing: &MissingColumns) -> Result<Vec<Warning>> {
        let name = || Place::file(&self.dataset.name);
        let expanded = self.dataset.expanded_columns();
        if let Some((field, warning)) = missing.everywhere_but(&expanded) {
            let way_out = way_out!["use the column's name in the rows"];
            let is_kept = self.kept.fields().any(|kept| kept == *field);
            let way_out = match is_kept {
                true => Some(way_out),
                false => (!(self.options.compat || self.options.arrow_compat))
                    .then(|| way_out.and(" (").and(Setting::COMPAT).and(" leaves such fields unfilled)")),
            };
            if let Some(way_out) = way_out {
                let way_out = match missing.list_in_only_row() {
                    Some(list) => {
                        way_out![format!("if {list:?} lists the rows, use "), Setting::FIELD.set_to(list.to_owned())]
                    }
                    None => way_out,
                };
                let error = warning.into_error(|message| ErrorKind::Dataset(message + "; no row has it"));
                let error = error.with_way_out(way_out);
                // Whoever keeps a column says so beside the dataset file.
                return Err(if is_kept { error } else { error.at(name()) });
            }
        }
        let note = |(field, lacking): (&TemplateField, u64)| {
            let TemplateField { place, column } = field;
            let what = lack_column(lacking, &counted(missing.rows(), "row"), column);
            Warning::new(MISSING, what).at(place.clone()).at(name())
        };
        let unexpanded = missing.nowhere_found().filter(|field| expanded.contains(field)).map(|field| {
            let what = format!("no row has the column {:?}, whose messages would be inserted", field.column);
            Warning::new(MISSING, what).at(field.place.clone()).at(name())
        });
        let somewhere = missing.somewhere().filter(|(field, _)| !expanded.contains(field)).map(note);
        let misspelt = missing.misspelt().iter().map(|warning| warning.clone().at(name()));
        Ok(somewhere.chain(unexpanded).chain(misspelt).collect())
    }

    /// Warnings if a row lacks a column or loses turns, unless that is an error anyway, or if the templates write the
    /// name of one of its columns and not what is in it: one of each code, if `is_new` holds for it.
    pub fn warnings(&self, row: &Row, is_new: impl Fn(&'static str) -> bool) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self.options.strict {
            let stays = || way_out!["such fields stay unfilled (", Setting::STRICT, " rejects the row)"];
            let rejects = || way_out![Setting::STRICT, " rejects the row"];
            if is_new(MISSING) {
                let stays = self.missing_column(row).map(|missing| missing.with_way_out(stays()));
                let not_kept = || Some(self.not_kept(row)?.with_way_out(rejects()));
                warnings.extend(stays.or_else(not_kept));
            }
            if is_new(UNEVEN) {
                warnings.extend(self.uneven_turns(row).map(|uneven| uneven.with_way_out(rejects())));
            }
            if is_new(NO_ANSWERS) {
                warnings.extend(self.no_answers(row).map(|lacking| lacking.with_way_out(rejects())));
            }
        }
        for unused in self.unused_columns.iter().filter(|unused| is_new(unused.warning.code())) {
            if warnings.iter().all(|known| known.code() != unused.warning.code()) && unused.is_in(row) {
                warnings.push(unused.warning.clone());
            }
        }
        warnings
    }

    /// A warning if the last question of a row's dialogue is not asked, unless that is an error anyway.
    pub fn unasked(&self, leaves_question: bool) -> Option<Warning> {
        (leaves_question && !self.options.strict).then(|| {
            let way_out = way_out!["end the dialogue with an empty answer (", Setting::STRICT, " rejects the row)"];
            question_left_out().with_way_out(way_out)
        })
    }

    /// A warning if a row's labels have the same text, so that no label is likelier than another.
    pub fn labels_alike(&self, prompts: &[RowPrompt]) -> Option<Warning> {
        let [first, others @ ..] = prompts else { return None };
        let is_alike =
            |other: &RowPrompt| other.label_index != first.label_index && other.conversation == first.conversation;
        if first.label.is_none() || others.is_empty() || !others.iter().all(is_alike) {
            return None;
        }
        let warning = Warning::new("labels-alike", "the texts of all labels are the same, so their scores are too");
        let warning = match &self.dataset.inferencer.labels_column {
            Some(column) if others.iter().all(|other| other.label == first.label) => {
                warning.with_way_out(format!("the row repeats a label; list each one once in the column {column:?}"))
            }
            _ => warning
                .with_way_out("write the label into the template, or give each label a template of its own")
                .at("infer_cfg.prompt_template"),
        };
        Some(warning.at(Place::file(&self.dataset.name)))
    }

    fn uneven_turns(&self, row: &Row) -> Option<Warning> {
        if !self.dataset.inferencer.kind.has_turns() {
            return None;
        }
        Some(Warning::new(UNEVEN, self.dataset.task.uneven_turns(row)?))
    }

    /// Only prompts that contain the dataset's answers to earlier turns miss them.
    fn no_answers(&self, row: &Row) -> Option<Warning> {
        if self.needs_model_answers() {
            return None;
        }
        Some(Warning::new(NO_ANSWERS, self.dataset.task.no_answers(row)?))
    }

    fn missing_column(&self, row: &Row) -> Option<Warning> {
        let missing = self.fields.iter().find_map(|field| field.missing_in(row))?;
        Some(missing.at(Place::file(&self.dataset.name)))
    }

    fn not_kept(&self, row: &Row) -> Option<Warning> {
        self.kept.fields().find_map(|field| field.missing_in(row))
    }
}

/// `2 of 3 rows lack the column "q"`.
pub(super) fn lack_column(lacking: u64, rows: &str, column: &str) -> String {
    let lack = if lacking == 1 { "lacks" } else { "lack" };
    format!("{lacking} of {rows} {lack} the column {column:?}")
}

fn question_left_out() -> Warning {
    Warning::new(
        "question-left-out",
        "the dialogue ends with a question that has no answer in the dataset, so it is not asked",
    )
}
