//! The columns that a dataset's templates need, and the fields that they never fill.

use crate::dataset::config::Dataset;
use crate::dataset::prompter::InferencerKind;
use crate::dataset::rows::Row;
use crate::dataset::template::{MissingColumns, RowTemplate, TemplateField, TemplateText};

impl Dataset {
    /// The fields for which a row must have a column, with their key paths. The answer's column may be missing if it is
    /// masked: it is replaced anyway.
    pub fn needed_fields(&self) -> Vec<TemplateField> {
        self.filled().filter(|field| self.is_field(field)).collect()
    }

    /// What is a field of the templates only if rows have a column of that name, such as `{Best Answer}`: names in braces
    /// that are not one word, and that the reader does not name.
    pub fn possible_fields(&self) -> Vec<TemplateField> {
        self.filled().filter(|field| !self.is_field(field)).collect()
    }

    /// The columns that the reader names, with their key paths: no template may need them, but which column is the answer
    /// decides what is left out, and examples may be chosen by others. Where `labels_column` fills the column of the
    /// answer, rows need not have it.
    pub fn named_columns(&self) -> Vec<TemplateField> {
        let field = |key: &str, column: &String| TemplateField {
            place: format!("reader_cfg.{key}").into(),
            column: column.clone(),
        };
        let input = self.task.input_columns.iter().map(|column| field("input_columns", column));
        let output = self.task.output_column.iter().filter(|_| self.inferencer.labels_column.is_none());
        input.chain(output.map(|column| field("output_column", column))).collect()
    }

    /// The columns whose lists become messages, with their key paths. A row may lack them.
    pub fn expanded_columns(&self) -> Vec<TemplateField> {
        let Some((name, template)) = self.own_template() else { return Vec::new() };
        template.expanded().into_iter().map(|field| self.located(name, field)).collect()
    }

    /// The fields of the examples for which a row of the training set must have a column.
    pub fn example_fields(&self) -> Vec<TemplateField> {
        self.filled_in_examples().filter(|field| self.is_field(field)).collect()
    }

    /// [`Self::possible_fields`] of the examples.
    pub(crate) fn possible_example_fields(&self) -> Vec<TemplateField> {
        self.filled_in_examples().filter(|field| !self.is_field(field)).collect()
    }

    /// The columns that the rows of examples lack; of none, if there are no examples. One of a template for each label has the
    /// text of its own label only, so those are left out.
    pub(crate) fn missing_in_examples(&self, train: &[Row]) -> MissingColumns {
        let has_labels = self.task.example_template().is_some_and(|(_, template)| template.labels().is_some());
        if self.task.retriever.count() == 0 || has_labels {
            return MissingColumns::default();
        }
        let mut missing = MissingColumns::new(self.example_fields()).with_possible(self.possible_example_fields());
        train.iter().for_each(|row| missing.see(row));
        missing
    }

    /// The fields that stay in every prompt, whatever columns a row has, with their key paths.
    pub fn unfilled_fields(&self) -> Vec<TemplateField> {
        let Some((name, template)) = self.own_template() else { return Vec::new() };
        let is_left_out = |field: &TemplateField| self.is_field(field) && !self.takes(&field.column);
        let left_out = template.fields().into_iter().filter(is_left_out);
        template.unfilled().into_iter().chain(left_out).map(|field| self.located(name, field)).collect()
    }

    /// What to do about one of the [unfilled](Self::unfilled_fields) fields.
    pub(crate) fn unfilled_help(&self, field: &TemplateField) -> String {
        match self.own_template().and_then(|(_, template)| template.unfilled_help()) {
            Some(help) => help.to_owned(),
            None if self.inferencer.kind == InferencerKind::Chat => {
                format!("add {:?} to reader_cfg.input_columns", field.column)
            }
            None => "replace it with text".to_owned(),
        }
    }

    /// Every text of its templates in which fields are filled, with its key path.
    pub(crate) fn texts(&self) -> Vec<TemplateText> {
        let templates = [("ice_template", &self.task.ice_template), ("prompt_template", &self.task.prompt_template)];
        let texts = templates.into_iter().filter_map(|(name, template)| Some((name, template.as_ref()?.texts())));
        let located = |(name, texts): (&'static str, Vec<TemplateText>)| {
            texts.into_iter().map(move |text| TemplateText { place: self.path(name, &text.place), ..text })
        };
        texts.flat_map(located).collect()
    }

    /// Everything in braces that a row's columns fill.
    fn filled(&self) -> impl Iterator<Item = TemplateField> {
        let of_template = self.own_template().into_iter().flat_map(move |(name, template)| {
            let masked = self.task.output_column.as_deref().filter(|_| self.masks_answer(template));
            let fields = template.fields().into_iter().filter(move |field| Some(field.column.as_str()) != masked);
            fields.filter(|field| self.takes(&field.column)).map(move |field| self.located(name, field))
        });
        let templates = self.own_template().map(|(_, template)| template).into_iter();
        let used = templates.chain(self.task.example_template().into_iter().map(|(_, template)| template));
        let used = used.flat_map(|template| template.fields()).map(|field| field.column);
        self.derived_columns.fields_of_used(used).into_iter().chain(of_template)
    }

    fn filled_in_examples(&self) -> impl Iterator<Item = TemplateField> {
        let fields = move |(name, template): (&'static str, &dyn RowTemplate)| {
            template.example_fields().into_iter().map(move |field| self.located(name, field))
        };
        self.task.example_template().into_iter().flat_map(fields)
    }

    /// Whether it is a field, whatever columns rows have.
    fn is_field(&self, field: &TemplateField) -> bool {
        let mut named = self.task.input_columns.iter().chain(&self.task.output_column);
        field.is_word() || named.any(|name| *name == field.column)
    }

    /// The template of the prompts, and its key.
    pub(super) fn own_template(&self) -> Option<(&'static str, &dyn RowTemplate)> {
        let own = self.task.prompt_template.as_deref().map(|template| ("prompt_template", template));
        own.or_else(|| Some(("ice_template", self.task.ice_template.as_deref()?)))
    }

    fn masks_answer(&self, template: &dyn RowTemplate) -> bool {
        use InferencerKind::{Choose, Generate, ScoreOnly, Turns};
        template.masks_answer()
            && (matches!(self.inferencer.kind, Generate | Choose | ScoreOnly | Turns)
                || self.inferencer.labels_column.is_some())
    }

    /// Whether a column reaches the template: a chat only uses the columns that the reader names.
    fn takes(&self, column: &str) -> bool {
        self.inferencer.kind != InferencerKind::Chat
            || self.task.input_columns.iter().any(|name| name == column)
            || self.task.output_column.as_deref() == Some(column)
    }

    pub(super) fn located(&self, template: &str, field: TemplateField) -> TemplateField {
        TemplateField { place: self.path(template, &field.place.to_string()).into(), ..field }
    }

    fn path(&self, template: &str, place: &str) -> String {
        format!("{}.{template}.{place}", self.key_path)
    }
}
