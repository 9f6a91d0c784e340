//! Answers: trimmed when they are complete, or token by token while they are generated.

use metatok::error::{At, Place, Result};
use metatok::stop::{FinishReason, TokenStream, Trimmer};
use metatok::trim::{AnswerTrimmer, TrimOptions};
use pyo3::prelude::*;
use serde_json::Value;

use crate::builder::Builder;
use crate::error::{OrRaise, exception};
use crate::objects::{data, to_python};

/// Trims with the stops of a builder.
fn trimmer(py: Python<'_>, builder: &Builder, include_stop: bool, skip_special_tokens: bool) -> PyResult<Trimmer> {
    let trimmer = py.detach(|| builder.shared.builder.trimmer()).or_raise(py)?;
    Ok(trimmer.include_stop(include_stop).skip_special_tokens(skip_special_tokens))
}

/// Generated ids, trimmed, each as a dict. Those that begin with the prompt lose it.
#[pyfunction]
pub(crate) fn complete<'py>(
    py: Python<'py>,
    builder: &Builder,
    answers: Vec<Vec<u32>>,
    prompts: Option<Vec<Vec<u32>>>,
    include_stop: bool,
    skip_special_tokens: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let trimmer = trimmer(py, builder, include_stop, skip_special_tokens)?;
    let completions = py.detach(|| {
        let prompt = |i: usize| prompts.as_ref().and_then(|prompts| prompts.get(i)).map_or(&[][..], Vec::as_slice);
        let own = |(i, ids): (usize, &'_ Vec<u32>)| {
            let own = metatok::stop::without_echo(prompt(i), ids);
            trimmer.complete(own).map_err(|error| (i, error))
        };
        answers.iter().enumerate().map(own).collect::<std::result::Result<Vec<_>, _>>()
    });
    let of_answer = |(number, error)| {
        let error = exception(py, &error);
        let named = || error.value(py).call_method1("_at_answer", (number,));
        if answers.len() > 1 { named().map_or_else(|error| error, PyErr::from_value) } else { error }
    };
    completions.map_err(of_answer)?.iter().map(|completion| data(py, completion)).collect()
}

/// Answers of engines, each a line of JSON as `metatok trim` reads it, which may have several; each trimmed as a dict.
#[pyfunction]
pub(crate) fn trim<'py>(py: Python<'py>, builder: &Builder, outputs: Vec<String>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let trimmed = py.detach(|| {
        let trimmer = AnswerTrimmer::new(&builder.shared.builder, TrimOptions::default())?;
        let of_output = |(i, output): (usize, &String)| -> Result<Vec<Value>> {
            let answers = trimmer.trim(output).at(Place::other(format_args!("output {i}")))?;
            Ok(answers.iter().map(|answer| serde_json::json!(answer)).collect())
        };
        outputs.iter().enumerate().map(of_output).collect::<Result<Vec<_>>>()
    });
    trimmed.or_raise(py)?.iter().flatten().map(|answer| to_python(py, answer)).collect()
}

/// An answer while it is generated.
#[pyclass(module = "metatok._metatok")]
#[derive(Debug)]
pub(crate) struct Stream {
    trimmer: Trimmer,
    stream: TokenStream,
}

#[pymethods]
impl Stream {
    #[new]
    fn new(py: Python<'_>, builder: &Builder, include_stop: bool, skip_special_tokens: bool) -> PyResult<Self> {
        let trimmer = trimmer(py, builder, include_stop, skip_special_tokens)?;
        Ok(Self { stream: trimmer.stream(), trimmer })
    }

    /// Takes an id, and returns the text that is certain now.
    fn push(&mut self, py: Python<'_>, id: u32) -> PyResult<String> {
        let mut text = String::new();
        self.stream.push(id, &mut text).or_raise(py)?;
        Ok(text)
    }

    /// The text that was held back.
    fn finish(&mut self) -> String {
        let mut text = String::new();
        self.stream.finish(&mut text);
        text
    }

    /// `stop` or `length`; none while it goes on.
    #[getter]
    fn finish_reason(&self) -> Option<&'static str> {
        self.stream.finish_reason().map(FinishReason::name)
    }

    #[getter]
    fn token_ids(&self) -> Vec<u32> {
        self.stream.token_ids().to_vec()
    }

    /// The stop at which it ended, as that of a complete answer.
    #[getter]
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.stream.finish_reason() {
            Some(FinishReason::StopToken(id)) => {
                let stop = self.trimmer.complete(&[id]).or_raise(py)?.stop;
                stop.map(|stop| data(py, &stop)).transpose()
            }
            Some(FinishReason::StopString(string)) => {
                let string = self.trimmer.criteria().strings().get(string);
                data(py, &serde_json::json!({"string": string})).map(Some)
            }
            _ => Ok(None),
        }
    }
}
