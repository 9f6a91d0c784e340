//! A dataset's rows as prompts: what the command line builds of a dataset.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metatok::build::{Build, BuildTotals, BuiltBatch, IdsForm, InputOptions, PromptForm};
use metatok::conversation::Mode;
use metatok::error::{ErrorKind, Result};
use metatok::input::Input;
use metatok::prepared::{DatasetOptions, PreparedDataset};
use metatok::sink::{FormOptions, OutputForm};
use metatok::{Fingerprint, PromptBuilder, Row, read_options};
use numpy::IntoPyArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::at_least_one::Threads;
use crate::builder::Builder;
use crate::error::{OrRaise, warn};
use crate::ids::Ids;
use crate::json::{keys_to_json, options_to_json};
use crate::objects::{data, to_python};
use crate::setting_name::setting_name;

/// The options of a dataset that Python gives.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    train: Option<PathBuf>,
    neighbours: Option<PathBuf>,
    num_fewshot: Option<u32>,
    layout: Option<String>,
    infer_mode: Option<String>,
    id_column: Option<String>,
    keep: Vec<String>,
    max_seq_len: Option<usize>,
    max_out_len: Option<usize>,
    arrow_compat: bool,
    compat: bool,
    strict: bool,
}

impl Given {
    fn options(self) -> Result<DatasetOptions> {
        let Self { train, neighbours, num_fewshot, id_column, keep, max_seq_len, max_out_len, .. } = self;
        let Self { arrow_compat, compat, strict, .. } = self;
        Ok(DatasetOptions {
            layout: self.layout.map(|layout| layout.parse()).transpose()?,
            infer_mode: self.infer_mode.map(|mode| mode.parse()).transpose()?,
            train,
            neighbours,
            num_fewshot,
            id_column,
            keep,
            max_seq_len,
            max_out_len,
            arrow_compat,
            compat,
            strict,
            ..DatasetOptions::default()
        })
    }
}

/// A dataset with a builder.
#[pyclass(frozen, module = "metatok._metatok")]
pub(crate) struct Task {
    dataset: Arc<PreparedDataset>,
    builder: PromptBuilder,
    max_seq_len: Option<usize>,
    max_out_len: Option<usize>,
    fingerprint: Fingerprint,
}

/// A prompt's ids, and everything else in a dict.
type TaskPrompt<'py> = (Ids, Bound<'py, PyAny>);

#[pymethods]
impl Task {
    /// The task of a dataset's file or built-in name, or of the text of one as JSON.
    #[new]
    fn new(
        py: Python<'_>,
        builder: &Builder,
        path: Option<PathBuf>,
        text: Option<String>,
        options: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let given: Given = read_options(&options_to_json(options)?).or_raise(py)?;
        let options = given.options().or_raise(py)?;
        py.detach(|| Self::of(builder, path.as_deref(), text.as_deref(), &options)).or_raise(py)
    }

    /// The prompts of rows, which are dicts, each with the number of its row: the same as the command line writes, with
    /// its warnings.
    ///
    /// # Errors
    /// Those of the command line, also for a column that no row has.
    fn build<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<TaskPrompt<'py>>> {
        let rows = rows.try_iter()?.zip(1..).map(|(row, number)| of_row(&row?, number, &format!("row {number}")));
        let rows = rows.collect::<PyResult<Vec<_>>>()?;
        let mut batches = py.detach(|| self.batches(&rows, threads)).or_raise(py)?;
        let (mut prompts, mut totals, mut warnings) = (Vec::new(), BuildTotals::default(), Vec::new());
        while let Some(batch) = py.detach(|| batches.next()) {
            for line in batch.lines().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                prompts.push(of_line(py, line)?);
            }
            let remarks = totals.add(batch);
            if let Some(error) = remarks.rejected.into_iter().next().map(|row| row.into_error()).or(remarks.error) {
                return Err(error).or_raise(py);
            }
            warnings.extend(remarks.warnings);
            py.check_signals()?;
        }
        let of_rows = totals.remarks.check(Some(&self.dataset)).or_raise(py)?;
        warnings.extend(totals.remarks.notes().into_iter().chain(of_rows));
        warnings.extend(totals.written.notes());
        warnings.iter().try_for_each(|warning| warn(py, warning))?;
        Ok(prompts)
    }

    /// `gen` or `ppl`.
    #[getter]
    fn mode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data(py, &self.builder.mode())
    }

    #[getter]
    fn name(&self) -> &str {
        self.dataset.dataset().abbr()
    }

    /// How many tokens an answer may have, if the dataset says so.
    #[getter]
    fn max_out_len(&self) -> Option<u64> {
        self.dataset.dataset().inferencer.max_out_len
    }

    #[getter]
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data(py, self.builder.stop())
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.fingerprint.to_json().to_string()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes().iter().map(|note| note.display_with(&setting_name).to_string()).collect()
    }
}

impl Task {
    fn of(builder: &Builder, path: Option<&Path>, text: Option<&str>, options: &DatasetOptions) -> Result<Self> {
        let dataset = match (path, text) {
            (Some(path), _) => PreparedDataset::open(path, options)?,
            (None, text) => PreparedDataset::parse("dataset.json", text.unwrap_or("{}").as_bytes(), options)?,
        };
        let mut of_builder = builder.recipe.options()?;
        let mode = builder.recipe.options.get("mode").map(|_| of_builder.mode);
        dataset.configure(&mut of_builder, mode);
        let tokenizer = builder.shared.builder.tokenizer();
        let fingerprint = Fingerprint::new(&builder.model, tokenizer, &of_builder);
        let (max_seq_len, max_out_len) = (options.max_seq_len, options.max_out_len);
        let of_input = InputOptions { dataset: Some(&dataset), max_seq_len, max_out_len, ..InputOptions::default() };
        of_input.check()?;
        Ok(Self {
            builder: PromptBuilder::new(&builder.model, Arc::clone(tokenizer), &of_builder)?,
            fingerprint: of_input.fingerprint(fingerprint)?,
            dataset: Arc::new(dataset),
            max_seq_len,
            max_out_len,
        })
    }

    /// Rows as lines of prompts.
    fn batches(&self, rows: &[Value], threads: Option<Threads>) -> Result<impl Iterator<Item = BuiltBatch> + use<>> {
        let rows = rows.iter().map(|row| Row::from_json(&row.to_string())).collect::<Result<Vec<_>>>()?;
        let sink = OutputForm::find("ids")?.open(&self.builder, FormOptions::default())?;
        let (max_seq_len, max_out_len) = (self.max_seq_len, self.max_out_len);
        let of_input =
            InputOptions { dataset: Some(&self.dataset), max_seq_len, max_out_len, ..InputOptions::default() };
        let form = IdsForm {
            labels: self.builder.mode() == Mode::Score,
            max_out_len: max_out_len.map(|tokens| tokens as u64),
            budget: of_input.budget(),
            ..IdsForm::new(self.builder.clone(), sink)
        };
        let mut build = Build::new(PromptForm::Ids(Box::new(form))).with_dataset(Arc::clone(&self.dataset));
        build.threads = threads.map(Threads::get);
        build.batches(self.dataset.through_arrow(vec![Input::rows("rows", rows)])?, None)
    }
}

/// A row as one line of JSON, which has this number among the rows of an argument.
#[pyfunction]
pub(crate) fn row_json(row: &Bound<'_, PyAny>, number: usize, argument: &str) -> PyResult<String> {
    of_row(row, number, &format!("{argument}: row {number}")).map(|row| row.to_string())
}

/// A row, which has this number and is called so.
fn of_row(row: &Bound<'_, PyAny>, number: usize, name: &str) -> PyResult<Value> {
    let json = keys_to_json(row, Some(Value::Null), |_, _| None).map_err(|error| {
        let value = error.value(row.py());
        match value.call_method1("_at_row", (number, name)) {
            Ok(error) => PyErr::from_value(error),
            Err(_) if error.is_instance_of::<PyTypeError>(row.py()) => PyTypeError::new_err(format!("{name}: {value}")),
            Err(_) => error,
        }
    })?;
    match json {
        Some(json) => Ok(json),
        None => Err(PyTypeError::new_err(format!("{name} must be a dict, not {}", row.get_type().qualname()?))),
    }
}

/// A prompt of the line that the command line writes.
fn of_line<'py>(py: Python<'py>, line: &[u8]) -> PyResult<TaskPrompt<'py>> {
    let line = serde_json::from_slice(line);
    let mut prompt: Map<String, Value> =
        line.map_err(|error| ErrorKind::Parse(error.to_string()).into()).or_raise(py)?;
    let ids: Vec<u32> = numbers(prompt.remove("input_ids")).unwrap_or_default();
    let labels: Option<Vec<i64>> = numbers(prompt.remove("labels"));
    let rest = to_python(py, &Value::Object(prompt))?;
    if let Some(labels) = labels {
        rest.set_item("labels", labels.into_pyarray(py))?;
    }
    Ok((ids.into(), rest))
}

fn numbers<N: serde::de::DeserializeOwned>(numbers: Option<Value>) -> Option<Vec<N>> {
    serde_json::from_value(numbers?).ok()
}
