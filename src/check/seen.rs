//! What a check learned from its conversations and rows.

use std::collections::BTreeSet;

use crate::dataset::template::misspelt;
use crate::dataset::{Dataset, Row, TemplateField};
use crate::error::{Error, Warning};

/// What a check learned from the conversations.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) conversations: usize,
    /// How many of them are strings, which no template touches.
    pub(crate) strings: usize,
    /// The roles that any of them rendered.
    pub(crate) roles: BTreeSet<u32>,
    /// The conversations that could not be built.
    pub(crate) refused: Places<Error>,
    /// The rows whose prompts depend on how fields are filled.
    pub(crate) filled_twice: Places<()>,
    pub(crate) dataset: Option<SeenDataset>,
}

/// A dataset and what its rows contain.
#[derive(Debug)]
pub(crate) struct SeenDataset {
    pub(crate) dataset: Dataset,
    pub(crate) rows: usize,
    /// Every column that any row has, including the columns that the reader names.
    pub(crate) columns: BTreeSet<String>,
    /// The fields for which some rows have no column.
    pub(crate) lacking: Vec<Lacking>,
    /// The names that are fields only if some row has their column, and the rows that lack them.
    pub(crate) possible: Vec<Lacking>,
    /// The columns whose lists become messages, and the rows that lack them.
    pub(crate) expanded: Vec<Lacking>,
    /// The fields of examples for which some rows of the training set have no column.
    pub(crate) lacking_examples: Vec<Lacking>,
    /// The names that are fields of examples only if some row of the training set has their column.
    pub(crate) possible_examples: Vec<Lacking>,
    pub(crate) train_rows: usize,
    /// The rows that lose turns: whose lists of turns differ in length, or whose last question is not asked.
    pub(crate) uneven: Places<String>,
    /// The columns that the reader names, and the first row has under nearly the same name.
    pub(crate) misspelt: Vec<Warning>,
}

/// A field, and the rows that have no column for it.
#[derive(Debug)]
pub(crate) struct Lacking {
    pub(crate) field: TemplateField,
    pub(crate) rows: Places<()>,
}

impl Lacking {
    fn of(fields: Vec<TemplateField>) -> Vec<Self> {
        fields.into_iter().map(|field| Self { field, rows: Places::default() }).collect()
    }

    fn see(&mut self, row: &Row, place: &str) {
        if row.get(&self.field.column).is_none() {
            self.rows.add(place, ());
        }
    }
}

impl SeenDataset {
    pub(crate) fn new(dataset: &Dataset, train: &[Row]) -> Self {
        let task = &dataset.task;
        let named = task.input_columns.iter().chain(&task.output_column).cloned();
        let mut seen = Self {
            rows: 0,
            columns: named.collect(),
            lacking: Lacking::of(dataset.needed_fields()),
            possible: Lacking::of(dataset.possible_fields()),
            expanded: Lacking::of(dataset.expanded_columns()),
            lacking_examples: Lacking::of(dataset.example_fields()),
            possible_examples: Lacking::of(dataset.possible_example_fields()),
            train_rows: train.len(),
            uneven: Places::default(),
            misspelt: Vec::new(),
            dataset: dataset.clone(),
        };
        for (i, row) in train.iter().enumerate() {
            let fields = seen.lacking_examples.iter_mut().chain(&mut seen.possible_examples);
            fields.for_each(|lacking| lacking.see(row, &format!("row {i} of the examples")));
        }
        seen
    }

    pub(crate) fn see(&mut self, row: &Row, place: &str) {
        if self.rows == 0 {
            self.misspelt = misspelt(&self.dataset.named_columns(), row);
        }
        self.rows += 1;
        for name in row.names().filter(|name| !self.columns.contains(*name)).map(str::to_owned).collect::<Vec<_>>() {
            self.columns.insert(name);
        }
        let fields = self.lacking.iter_mut().chain(&mut self.possible).chain(&mut self.expanded);
        fields.for_each(|lacking| lacking.see(row, place));
        if self.dataset.inferencer.kind.has_turns()
            && let Some(what) = self.lost_turns(row)
        {
            self.uneven.add(place, what);
        }
    }

    fn lost_turns(&self, row: &Row) -> Option<String> {
        let Dataset { task, inferencer, .. } = &self.dataset;
        let no_answers = || task.no_answers(row).filter(|_| !inferencer.infer_mode.takes_answers());
        task.uneven_turns(row).or_else(no_answers)
    }

    /// Where a field or text of its file is.
    pub(crate) fn place(&self, place: impl std::fmt::Display) -> String {
        format!("{}: {place}", self.dataset.name)
    }
}

/// The first of many places, what was found there, and how many there are.
#[derive(Debug)]
pub(crate) struct Places<T> {
    pub(crate) named: Vec<(String, T)>,
    pub(crate) in_all: usize,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { named: Vec::new(), in_all: 0 }
    }
}

impl<T> Places<T> {
    pub(crate) fn add(&mut self, place: &str, found: T) {
        self.in_all += 1;
        if self.named.len() < NAMED {
            self.named.push((place.to_owned(), found));
        }
    }

    /// How many are not listed.
    pub(crate) fn rest(&self) -> usize {
        self.in_all - self.named.len()
    }

    /// The first place.
    pub(crate) fn first(&self) -> &str {
        self.named.first().map_or("", |(place, _)| place.as_str())
    }
}

/// How many places of a file are listed.
const NAMED: usize = 10;
