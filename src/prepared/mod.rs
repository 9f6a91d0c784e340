//! A dataset with everything that its prompts need: its options, the rows of its examples, and the answers for its
//! judge.
//!
//! ```
//! use metatok::Dataset;
//! use metatok::dataset::retriever::Examples;
//! use metatok::dataset::rows::PickedRow;
//! use metatok::prepared::{DatasetOptions, PreparedDataset};
//!
//! let file = br#"infer_cfg = { prompt_template = { template = "Q: {q}" } }"#;
//! let dataset = PreparedDataset::new(Dataset::parse("d.toml", file)?, &DatasetOptions::default())?;
//! let record = r#"{"q": "1+1=?"}"#.into();
//! let row = dataset.row(record, PickedRow::once(0))?.expect("no judge leaves it out");
//! let mut prompter = dataset.prompter();
//! let prompts = dataset.prompts(&row, Examples::default(), &mut prompter, |_| Ok(0))?;
//! assert_eq!(prompts[0].conversation, metatok::Conversation::Text("Q: 1+1=?".into()));
//! # Ok::<(), metatok::Error>(())
//! ```

mod arrow;
mod batched;
mod checked_rows;
mod chosen_prompt;
mod doubtful_rows;
mod example_rows;
mod judged;
mod named;
mod options;
mod prompts;
mod unused_column;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::builder::BuilderOptions;
use crate::conversation::Mode;
use crate::dataset::{
    Dataset, DatasetSource, Holds, Inferencer, InferencerKind, KeptColumns, MissingColumns, PickedRow, RawRecord, Row,
    RowPrompter, TemplateField, Value, arrow_rows,
};
use crate::dialect::{Model, parse_file};
use crate::digest::{digest, hex};
use crate::error::{At, ErrorKind, Place, Result, Setting, Warning, way_out};
use crate::fingerprint::Fingerprint;
use crate::input::{Input, digest_of_file, each_record};
pub(crate) use batched::line_batches;
pub use chosen_prompt::{ChosenPrompt, PromptChoice};
use judged::Judged;
pub use named::NamedDataset;
pub use options::DatasetOptions;
use unused_column::UnusedColumn;

/// A dataset, the rows that examples come from, and how long a prompt may be.
#[derive(Debug, Clone)]
pub struct PreparedDataset {
    dataset: Arc<Dataset>,
    options: DatasetOptions,
    /// A hash of what the dataset file says.
    digest: String,
    train: Arc<[Row]>,
    prompter: RowPrompter,
    /// A hash of these rows.
    train_digest: String,
    fields: Vec<TemplateField>,
    /// What the rows of the examples lack.
    missing_in_examples: Arc<MissingColumns>,
    unused_columns: Arc<[UnusedColumn]>,
    kept: KeptColumns,
    /// Models' answers, if a judge is asked.
    judged: Option<Arc<Judged>>,
}

impl PreparedDataset {
    /// A dataset file, or the built-in dataset with this name.
    ///
    /// # Errors
    /// The same as for [`Dataset::parse`]; for options that do not apply to the dataset; errors of reading the options'
    /// files.
    pub fn open(path: &Path, options: &DatasetOptions) -> Result<Self> {
        let bytes = Dataset::read_file(path)?;
        Self::with_digest(Dataset::parse_at(path, &bytes)?, &bytes, options)
    }

    /// A dataset by the text of its file, as for [`Dataset::parse`].
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn parse(name: &str, bytes: &[u8], options: &DatasetOptions) -> Result<Self> {
        Self::with_digest(Dataset::parse(name, bytes)?, bytes, options)
    }

    /// A dataset of a file with several, see [`Dataset::sources`].
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn from_source(source: &DatasetSource, options: &DatasetOptions) -> Result<Self> {
        Self::with_digest(source.read()?, source.bytes(), options)
    }

    /// A dataset in memory. Its fingerprint does not distinguish it from others.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn new(dataset: Dataset, options: &DatasetOptions) -> Result<Self> {
        Self::with_digest(dataset, b"", options)
    }

    fn with_digest(mut dataset: Dataset, bytes: &[u8], options: &DatasetOptions) -> Result<Self> {
        let digest = digest_of_dataset(&dataset.name, bytes);
        if options.num_fewshot != Some(0) {
            check_retriever(&dataset)?;
        }
        options.apply(&mut dataset)?;
        let judged = Judged::open(options, &mut dataset)?;
        options.apply_to_examples(&mut dataset)?;
        let (mut train, train_digest) = match &options.train {
            Some(path) => {
                let input = Input::open_with(path, &options.csv)?;
                let input = options.field.iter().try_fold(input, Input::in_field)?;
                read(vec![input], options.max_line_bytes)?
            }
            None => (Vec::new(), String::new()),
        };
        if options.arrow_compat {
            train = arrow_rows(train, &format!("{}_train", dataset.abbr()));
        }
        train.iter_mut().try_for_each(|row| dataset.derive(row)).at(Setting::TRAIN)?;
        let train = dataset.train_rows(train)?;
        // Errors in the templates are reported before the input is read.
        let train: Arc<[Row]> = train.into();
        let dataset = Arc::new(dataset);
        let prompter = RowPrompter::new(Arc::clone(&dataset), Arc::clone(&train))?;
        Ok(Self {
            fields: dataset.needed_fields(),
            missing_in_examples: dataset.missing_in_examples(&train).into(),
            unused_columns: UnusedColumn::of(&dataset).into(),
            kept: KeptColumns { id: options.id_column.clone(), keep: each_once(&options.keep) },
            judged: judged.map(Arc::new),
            digest,
            dataset,
            options: options.clone(),
            train,
            prompter,
            train_digest,
        })
    }

    /// The dataset, with its options applied; the judge's if one is asked.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Which columns of a row are written with its prompts.
    pub fn kept_columns(&self) -> &KeptColumns {
        &self.kept
    }

    /// The dataset, prepared to fill no fields that stand in the values of columns.
    #[must_use]
    pub fn single_pass(&self) -> Self {
        let dataset = Arc::new(self.dataset.single_pass());
        let prompter = RowPrompter::new(Arc::clone(&dataset), Arc::clone(&self.train))
            .expect("these templates were accepted before");
        Self { dataset, prompter, ..self.clone() }
    }

    /// Warnings about the dataset.
    pub fn notes(&self) -> Vec<Warning> {
        let of_judge = self.judged.iter().flat_map(|judged| &judged.notes);
        let notes = self.dataset.notes().into_iter().chain(of_judge.cloned());
        notes.chain(self.example_warnings()).collect()
    }

    /// A warning about prompts that are strings although the model has a template for roles.
    pub fn string_prompts_warning(&self, model: &Model, options: &BuilderOptions) -> Option<Warning> {
        if let Some(mixed) = self.mixed_labels_warning(model, options) {
            return Some(mixed);
        }
        let is_string = self.dataset.task.template().is_ok_and(|template| template.is_string())
            && !self.dataset.inferencer.kind.builds_messages();
        let is_chat = model.meta_template.is_some() && options.mode == Mode::Generate && options.chat_wrapper.is_none();
        (is_string && is_chat).then(|| {
            let way_out = match self.dataset.task.has_layouts() {
                true => way_out![
                    Setting::LAYOUT.set_to("chat"),
                    " and ",
                    Setting::LAYOUT.set_to("turns"),
                    " turn them into messages"
                ],
                false => {
                    way_out![Setting::CHAT_WRAPPER.set_to("opencompass-chat"), " turns each one into a user message"]
                }
            };
            Warning::new("string-prompts", "prompts are strings, to which the model's template is not applied")
                .with_way_out(way_out)
                .at(Place::file(&self.dataset.name))
        })
    }

    /// A warning about labels of which only some are written with the model's template, so that their scores differ by
    /// that.
    fn mixed_labels_warning(&self, model: &Model, options: &BuilderOptions) -> Option<Warning> {
        let label = self.dataset.task.template().ok()?.string_beside_dialogues()?;
        let is_applied = model.meta_template.is_some() && options.mode == Mode::Score && options.chat_wrapper.is_none();
        (is_applied && self.dataset.inferencer.kind.has_labels()).then(|| {
            let what = format!(
                "the template of label {:?} is a string, to which the model's template is not applied, but those of other labels are dialogues, so their scores differ by that",
                label.text()
            );
            Warning::new("string-prompts", what)
                .with_way_out("write all of them as dialogues, or all as strings")
                .at("infer_cfg.prompt_template")
                .at(Place::file(&self.dataset.name))
        })
    }

    /// Adds everything in the files and options that affects prompts to a builder's fingerprint.
    ///
    /// # Errors
    /// Errors of reading the file of neighbours.
    pub fn fingerprint(&self, fingerprint: Fingerprint) -> Result<Fingerprint> {
        let mut fingerprint = fingerprint.with("dataset", &*self.digest);
        if let Some(neighbours) = self.dataset.task.retriever.neighbours() {
            fingerprint = fingerprint.with("neighbours", digest_of_file(neighbours)?);
        }
        if let Some(judged) = &self.judged {
            fingerprint = fingerprint.with("judge", judged.digest());
        }
        if self.options.train.is_some() {
            fingerprint = fingerprint.with("train", &*self.train_digest);
        }
        Ok(self.options.fingerprint(fingerprint))
    }

    /// Adds the options that affect which rows there are, and what is written with each.
    pub(crate) fn fingerprint_of_keys(&self, fingerprint: Fingerprint) -> Fingerprint {
        self.options.fingerprint_of_keys(fingerprint)
    }

    /// A row of the input, with its derived columns; none if a judge is asked and there is no answer to the row.
    ///
    /// # Errors
    /// The same as for [`Dataset::row`]; if answers to judge do not fit the row.
    pub fn row<'r>(&self, record: RawRecord<'r>, pick: PickedRow) -> Result<Option<Cow<'r, Row>>> {
        let mut row = self.dataset.row_of(record)?;
        if self.options.arrow_compat {
            row.to_mut().set("idx", Value::Int(pick.idx.to_string()));
        }
        let Some(judged) = &self.judged else { return Ok(Some(row)) };
        let key = self.kept.key(&row, pick)?;
        Ok(judged.add(row.to_mut(), &key, pick.row)?.then_some(row))
    }

    /// Warnings at the end about rows and answers that a judge was not asked about.
    ///
    /// # Errors
    /// If no row has an answer.
    pub fn check_judged(&self) -> Result<Vec<Warning>> {
        self.judged.as_ref().map_or_else(|| Ok(Vec::new()), |judged| judged.check())
    }

    /// The rows of the examples.
    pub fn train(&self) -> &[Row] {
        &self.train
    }

    /// Forgets the limit on prompts, so that all examples are kept: the caller shortens prompts.
    pub fn clear_max_seq_len(&mut self) {
        self.options.max_seq_len = None;
    }

    /// Sets the default limit on an answer's tokens.
    pub fn set_default_max_out_len(&mut self, max_out_len: usize) {
        self.options.max_out_len.get_or_insert(max_out_len);
    }

    /// Whether turns are generated with the model's own answers in earlier turns.
    pub fn needs_model_answers(&self) -> bool {
        let Inferencer { kind, infer_mode, .. } = &self.dataset.inferencer;
        kind.has_turns() && infer_mode.takes_answers()
    }

    /// Sets the dataset's options for building, in its own mode or another one.
    pub fn configure(&self, options: &mut BuilderOptions, mode: Option<Mode>) {
        options.mode = mode.unwrap_or(self.dataset.inferencer.kind.mode());
        options.stop_strings.extend(self.dataset.inferencer.stopping_criteria.iter().cloned());
        options.compat = self.dataset.task.compat;
        options.each_message = self.dataset.inferencer.kind == InferencerKind::Chat;
        if let Some(template) = self.dataset.task.qa_chat() {
            options.continue_final_message |= !template.gen_prefix.is_empty();
            options.open_answer = options.mode == Mode::Score;
        }
    }
}

/// Rejects a template for examples that nothing chooses.
fn check_retriever(dataset: &Dataset) -> Result<()> {
    let Dataset { name, task, names_retriever, key_path, .. } = dataset;
    if *names_retriever || task.ice_template.is_none() || task.prompt_template.is_none() {
        return Ok(());
    }
    let what = "there is an ice_template, but no retriever to choose the examples";
    let way_out =
        "add one, such as { type = \"FixKRetriever\", fix_id_list = [0] }, or { type = \"ZeroRetriever\" } for none";
    Err(ErrorKind::Dataset(what.into()).with_way_out(way_out)).at(*key_path).at(Place::file(name))
}

/// A hash of what a dataset file says, without comments and white space. Keys keep their order, because it is that of
/// labels and columns.
fn digest_of_dataset(name: &str, bytes: &[u8]) -> String {
    let values = parse_file::<Value>(name, bytes).ok().and_then(|values| serde_json::to_string(&values).ok());
    digest(&values.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()).into())
}

/// Every row of the inputs, and a hash of them, whatever the format of their file.
fn read(inputs: Vec<Input>, longest: usize) -> Result<(Vec<Row>, String)> {
    let (mut rows, mut hash) = (Vec::new(), Sha256::new());
    each_record(inputs, Holds::Rows, longest, |place, record| {
        let (row, json) = record.and_then(row_with_json).map_err(|error| place.of_error(error))?;
        hash.update(json.len().to_le_bytes());
        hash.update(json);
        rows.push(row);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((rows, hex(hash)))
}

/// A row, and its JSON, in which white space and the spelling of a value make no difference.
fn row_with_json(record: RawRecord<'_>) -> Result<(Row, String)> {
    let row = record.row()?.into_owned();
    let json = row.to_json()?;
    Ok((row, json))
}

/// These columns without those that were named before.
fn each_once(columns: &[String]) -> Vec<String> {
    let is_first = |(place, column): &(usize, &String)| !columns[..*place].contains(column);
    columns.iter().enumerate().filter(is_first).map(|(_, column)| column.clone()).collect()
}
