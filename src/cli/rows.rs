//! Rows of a dataset become prompts: the examples that fit, and each label.

use std::path::Path;

use crate::builder::{BuilderOptions, Session};
use crate::cli::args::{InputArgs, ModelArgs};
use crate::cli::setup;
use crate::conversation::Conversation;
use crate::dataset::{Dataset, InferencerKind, Lines, Retriever, Row, Shots, TemplateField, Value};
use crate::error::{At, Error, ErrorKind, Result};

/// A dataset file, the rows that examples come from, and how long a prompt may be.
pub(crate) struct Rows {
    pub(crate) dataset: Dataset,
    train: Vec<Row>,
    /// The labels to score; none where prompts are to be continued.
    labels: Option<Vec<Value>>,
    fields: Vec<TemplateField>,
    longest_prompt: Option<usize>,
    strict: bool,
}

/// A prompt of a row.
pub(crate) struct RowPrompt {
    /// As JSON.
    pub(crate) label: Option<String>,
    pub(crate) conversation: Conversation,
}

impl Rows {
    /// What the arguments name, or nothing if the input is conversations.
    pub(crate) fn open(args: &InputArgs, longest_line: usize) -> Result<Option<Self>> {
        let Some(path) = &args.dataset else { return Ok(None) };
        let dataset = Dataset::load(path)?;
        let template = dataset.task.template().at("infer_cfg").at(&dataset.name)?;
        let fields = template.fields();
        let mut train = match &args.train {
            Some(path) => read(path, longest_line)?,
            None => Vec::new(),
        };
        if let Some(range) = &dataset.train_range {
            let rows = range.rows(train.len()).at("reader_cfg.train_range").at(&dataset.name)?;
            train = rows.into_iter().map(|row| train[row].clone()).collect();
        }
        let labels = match (dataset.inferencer.kind, &dataset.inferencer.labels) {
            (InferencerKind::Score, Some(labels)) => Some(labels.clone()),
            (InferencerKind::Score, None) => {
                // Rows are read one by one, so their answers are not all known beforehand.
                let labels = dataset.task.labels(&[]).at("infer_cfg").at(&dataset.name)?;
                if labels.is_empty() {
                    let what =
                        "there are no labels to score; write them as inferencer.labels, or as keys of the template";
                    return Err(Error::from(ErrorKind::Template(what.into())).at("infer_cfg").at(&dataset.name));
                }
                Some(labels)
            }
            _ => None,
        };
        let longest_prompt = args.max_seq_len.map(|longest| longest.saturating_sub(args.max_out_len));
        Ok(Some(Self { dataset, train, labels, fields, longest_prompt, strict: args.strict }))
    }

    /// What the dataset says about building.
    pub(crate) fn set(&self, options: &mut BuilderOptions, args: &ModelArgs) {
        options.mode = args.mode.map_or(self.dataset.inferencer.kind.mode(), setup::mode);
        options.stop_strings.extend(self.dataset.inferencer.stopping_criteria.iter().cloned());
    }

    /// Gives the examples' numbers for one row after the other.
    pub(crate) fn retriever(&self) -> Result<Box<dyn Retriever>> {
        self.dataset.task.retriever.open(self.train.len()).at("infer_cfg.retriever").at(&self.dataset.name)
    }

    /// What puts examples before rows; one per thread.
    pub(crate) fn shots(&self) -> Shots<'_> {
        Shots::new(&self.dataset.task, &self.train)
    }

    /// The prompts of a row: one, or one for each label. Examples are dropped from the end until a
    /// prompt fits; what one label dropped stays dropped for the next, as in the reference.
    pub(crate) fn prompts(
        &self,
        row: &Row,
        mut ids: Vec<i64>,
        shots: &mut Shots<'_>,
        session: &mut Session<'_>,
    ) -> Result<Vec<RowPrompt>> {
        if self.strict
            && let Some(message) = self.missing_column(row)
        {
            return Err(ErrorKind::Template(message).into());
        }
        let labels: Vec<Option<&Value>> = match &self.labels {
            Some(labels) => labels.iter().map(Some).collect(),
            None => vec![None],
        };
        let longest = self.longest_prompt;
        let mut fits = |prompt: &Conversation| match longest {
            None => Ok(true),
            Some(longest) => Ok(session.build(prompt)?.input_ids.len() <= longest),
        };
        let prompt = |label: Option<&Value>| {
            let conversation = shots.prompt(row, &mut ids, label, &mut fits)?;
            Ok(RowPrompt { label: label.map(|label| label.to_json().to_string()), conversation })
        };
        labels.into_iter().map(prompt).collect()
    }

    /// What to warn of if a row lacks a column; nothing if that is an error anyway.
    pub(crate) fn missing(&self, row: &Row) -> Option<String> {
        if self.strict { None } else { self.missing_column(row) }
    }

    fn missing_column(&self, row: &Row) -> Option<String> {
        let message = self.fields.iter().find_map(|field| field.missing_in(row))?;
        let template = if self.dataset.task.prompt_template.is_some() { "prompt_template" } else { "ice_template" };
        Some(format!("{}: infer_cfg.{template}.{message}", self.dataset.name))
    }
}

/// Every row of a file.
fn read(path: &Path, longest: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for input in setup::inputs(&[path.to_owned()])? {
        let mut lines = Lines::new(input.reader, longest);
        let mut bytes = Vec::new();
        while let Some(line) = lines.next_into(&mut bytes).at(&input.name)? {
            let row = line.text(&bytes, longest).and_then(Row::from_json);
            rows.push(row.at(format_args!("line {}", line.number)).at(&input.name)?);
            bytes.clear();
        }
    }
    Ok(rows)
}
