//! The options of a dataset, in addition to its file.

use std::path::PathBuf;

use crate::conversation::Mode;
use crate::dataset::{Dataset, InferMode, Layout};
use crate::error::{At, ErrorKind, Place, Result, Setting, way_out};
use crate::fingerprint::Fingerprint;
use crate::input::{CsvOptions, DEFAULT_MAX_LINE_BYTES};

/// The options of a dataset, in addition to its file. The defaults change nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetOptions {
    /// The file with the rows of in-context examples.
    pub train: Option<PathBuf>,
    /// A file of JSON lists for `TopkRetriever`: the nearest rows of `train` to each row.
    pub neighbours: Option<PathBuf>,
    /// How many in-context examples a row has.
    pub num_fewshot: Option<u32>,
    /// How questions are laid out with their examples, for a `QaTemplate`.
    pub layout: Option<Layout>,
    /// Which turns of a chat are generated.
    pub infer_mode: Option<InferMode>,
    /// What CSV and TSV files do not say of themselves, also that of [`Self::train`].
    pub csv: CsvOptions,
    /// The field of a file's object that lists the rows of [`Self::train`].
    pub field: Option<String>,
    /// The column of the rows' ids; then every row must have it.
    pub id_column: Option<String>,
    /// Columns of the row to write with each prompt.
    pub keep: Vec<String>,
    /// Files of answers that the dataset's judge is asked about, one for each model.
    pub judge: Vec<PathBuf>,
    /// The prefix of the ids of these answers, see [`RequestOptions`](crate::server::RequestOptions).
    pub run_id: Option<String>,
    /// Whether to remove a model's thoughts from its answers.
    pub strip_thoughts: bool,
    /// The model's context, in tokens: examples are dropped from the end until a prompt fits with its answer.
    pub max_seq_len: Option<usize>,
    /// How many tokens an answer may have if its row has no limit.
    pub max_out_len: Option<usize>,
    /// Whether to drop silently what AISBench drops.
    pub compat: bool,
    /// Whether rows have the types that Hugging Face `datasets` gives them.
    pub arrow_compat: bool,
    /// Whether rows that lack a column of the template, or an answer to judge, are rejected.
    pub strict: bool,
    /// The limit on the texts of a row after its columns are filled in, together, in bytes.
    pub max_row_bytes: Option<usize>,
    /// The limit on a line of a file, in bytes.
    pub max_line_bytes: usize,
}

impl Default for DatasetOptions {
    fn default() -> Self {
        Self {
            train: None,
            neighbours: None,
            num_fewshot: None,
            layout: None,
            infer_mode: None,
            csv: CsvOptions::default(),
            field: None,
            id_column: None,
            keep: Vec::new(),
            judge: Vec::new(),
            run_id: None,
            strip_thoughts: false,
            max_seq_len: None,
            max_out_len: None,
            compat: false,
            arrow_compat: false,
            strict: false,
            max_row_bytes: None,
            max_line_bytes: DEFAULT_MAX_LINE_BYTES,
        }
    }
}

impl DatasetOptions {
    /// Changes the dataset, before a judge replaces it.
    pub(super) fn apply(&self, dataset: &mut Dataset) -> Result<()> {
        dataset.task.compat = self.compat;
        if let Some(bytes) = self.max_row_bytes {
            dataset.set_max_row_bytes(bytes);
        }
        if let Some(layout) = self.layout {
            dataset.set_layout(layout).at(Setting::LAYOUT).at(Place::file(&dataset.name))?;
        }
        if let Some(mode) = self.infer_mode {
            if !dataset.inferencer.kind.has_turns() {
                let error =
                    ErrorKind::Usage("this dataset does not generate turn by turn".into()).with_way_out("leave it out");
                return Err(error.at(Setting::INFER_MODE).at(Place::file(&dataset.name)));
            }
            dataset.inferencer.infer_mode_is_explicit = true;
            dataset.inferencer.infer_mode = mode;
        }
        Ok(())
    }

    /// Changes the dataset's examples, or those of its judge.
    pub(super) fn apply_to_examples(&self, dataset: &mut Dataset) -> Result<()> {
        let has_examples = dataset.task.retriever.count() > 0 || self.num_fewshot.is_some_and(|count| count > 0);
        if self.train.is_some() && !has_examples {
            let error = ErrorKind::Usage("this dataset has no in-context examples".into())
                .with_way_out(way_out!["leave it out, or ask for some with ", Setting::NUM_FEWSHOT]);
            return Err(error.at(Setting::TRAIN).at(Place::file(&dataset.name)));
        }
        if let Some(count) = self.num_fewshot {
            dataset.task.retriever.set_count(count as usize).at(Setting::NUM_FEWSHOT).at(Place::file(&dataset.name))?;
        }
        if let (Some(max_out_len), Mode::Generate) = (self.max_out_len, dataset.inferencer.kind.mode()) {
            dataset.inferencer.max_out_len = Some(max_out_len as u64);
        }
        if let Some(neighbours) = &self.neighbours {
            dataset.task.retriever.set_neighbours(neighbours).at(Setting::NEIGHBOURS).at(Place::file(&dataset.name))?;
        }
        Ok(())
    }

    /// With the options that affect which rows there are and what is written with each.
    pub(super) fn fingerprint_of_keys(&self, mut fingerprint: Fingerprint) -> Fingerprint {
        if let Some(columns) = &self.csv.columns {
            fingerprint = fingerprint.with("columns", columns.join(","));
        }
        if let Some(quotes) = self.csv.quotes {
            fingerprint = fingerprint.with("quotes", quotes.name());
        }
        if let Some(column) = &self.id_column {
            fingerprint = fingerprint.with("id_column", column.as_str());
        }
        if !self.keep.is_empty() {
            fingerprint = fingerprint.with("keep", self.keep.join(","));
        }
        if self.strict {
            fingerprint = fingerprint.with("strict", true);
        }
        fingerprint
    }

    /// With the options that affect prompts.
    pub(super) fn fingerprint(&self, mut fingerprint: Fingerprint) -> Fingerprint {
        if let Some(count) = self.num_fewshot {
            fingerprint = fingerprint.with("num_fewshot", count);
        }
        if let Some(layout) = self.layout {
            fingerprint = fingerprint.with("layout", layout.name());
        }
        if let Some(mode) = self.infer_mode {
            fingerprint = fingerprint.with("infer_mode", mode.to_string());
        }
        if self.strip_thoughts && !self.judge.is_empty() {
            fingerprint = fingerprint.with("strip_thoughts", true);
        }
        if self.arrow_compat {
            fingerprint = fingerprint.with("arrow_compat", true);
        }
        fingerprint
    }
}
