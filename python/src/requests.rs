//! Requests to servers, in the forms of the command line.

use metatok::dataset::prompter::SamplingParams;
use metatok::error::{ErrorKind, Result};
use metatok::server::RequestOptions;
use metatok::sink::{FormOptions, LineSink, OutputForm, PromptKey, Sink};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::at_least_one::Threads;
use crate::builder::{Builder, Prompt};
use crate::error::OrRaise;
use crate::json::to_json;

/// The requests of conversations, each as the JSON of its line. Records without an id have their numbers.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
pub(crate) fn requests(
    py: Python<'_>,
    builder: &Builder,
    conversations: &Bound<'_, PyAny>,
    form: &str,
    max_out_len: Option<u64>,
    sampling: &Bound<'_, PyAny>,
    threads: Option<Threads>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let request = match to_json(sampling)? {
        Value::Object(keys) => options(keys, max_out_len).or_raise(py)?,
        _ => RequestOptions::default(),
    };
    let sink = lines(builder, form, request).or_raise(py)?;
    let prompts = builder.prompts(conversations, threads, budget)?;
    let written = py.detach(|| {
        let line = |(number, Prompt { prompt, id, .. }): (usize, &Prompt)| -> Result<String> {
            let (id, mut line) = (id.clone().unwrap_or_else(|| number.to_string()), Vec::new());
            sink.write(&PromptKey { max_out_len, ..PromptKey::of(&id) }, &prompt.into(), &mut line)?;
            Ok(String::from_utf8_lossy(&line).into_owned())
        };
        prompts.iter().enumerate().map(line).collect::<Result<Vec<_>>>()
    });
    written.or_raise(py)
}

/// What a request asks for; keys that are not known are added to it.
fn options(mut keys: Map<String, Value>, max_out_len: Option<u64>) -> Result<RequestOptions> {
    let wrong = |error: serde_json::Error| ErrorKind::Usage(format!("sampling: {error}"));
    let sampling: SamplingParams = serde_json::from_value(Value::Object(keys.clone())).map_err(wrong)?;
    ["temperature", "top_p", "top_k"].iter().for_each(|key| drop(keys.shift_remove(*key)));
    let defaults = RequestOptions::default();
    let options = RequestOptions {
        sampling,
        seed: keys.shift_remove("seed").map(serde_json::from_value).transpose().map_err(wrong)?,
        served_model_name: keys.shift_remove("model").map(serde_json::from_value).transpose().map_err(wrong)?,
        run_id: keys.shift_remove("run_id").map(serde_json::from_value).transpose().map_err(wrong)?,
        max_out_len: max_out_len.unwrap_or(defaults.max_out_len),
        params: keys,
        ..defaults
    };
    options.check()?;
    Ok(options)
}

fn lines(builder: &Builder, form: &str, request: RequestOptions) -> Result<Box<dyn LineSink>> {
    match OutputForm::find(form)?.open(&builder.shared.builder, FormOptions { request, ..FormOptions::default() })? {
        Sink::Lines(sink) => Ok(sink),
        _ => Err(ErrorKind::Usage(format!("{form} is one file of all prompts, and has no requests")).into()),
    }
}
