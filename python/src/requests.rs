//! Requests to servers, in the forms of the command line.

use metatok::dataset::prompter::SamplingParams;
use metatok::error::{At, ErrorKind, Result};
use metatok::input::from_json;
use metatok::read_options;
use metatok::server::RequestOptions;
use metatok::sink::{BuiltPrompt, FormOptions, LineSink, OutputForm, PromptKey, Sink};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::at_least_one::Threads;
use crate::builder::Builder;
use crate::error::OrRaise;
use crate::json::options_to_json;
use crate::prompt::Prompt;
use crate::repeated_ids::tell_repeated;

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
    let request = match options_to_json(sampling)? {
        Value::Object(keys) => options(keys, max_out_len).or_raise(py)?,
        _ => RequestOptions::default(),
    };
    let sink = lines(builder, form, request).or_raise(py)?;
    let usual = OutputForm::find(form).or_raise(py)?.usual_max_out_len(builder.shared.builder.mode());
    if let Some((budget, usual)) = budget.and_then(|budget| budget.cast::<PyDict>().ok()).zip(usual)
        && !budget.contains("max_out_len")?
    {
        budget.set_item("max_out_len", usual)?;
    }
    let prompts = builder.prompts(conversations, 0, threads, budget)?;
    if prompts.iter().any(|prompt| prompt.id.is_some()) {
        let numbers: Vec<String> = (0..prompts.len()).map(|number| number.to_string()).collect();
        let ids = prompts.iter().zip(&numbers);
        // A number is the same as its digits as a text.
        tell_repeated(py, ids.map(|(prompt, number)| prompt.id.as_ref().unwrap_or(number).trim_matches('"')))?;
    }
    let written = py.detach(|| {
        let line = |(number, built): (usize, &Prompt)| -> Result<String> {
            let Prompt { prompt, id, max_out_len: own, conversation, .. } = built;
            let (id, mut line) = (id.clone().unwrap_or_else(|| number.to_string()), Vec::new());
            let key = PromptKey { max_out_len: own.or(max_out_len), ..PromptKey::of(from_json(&id)?) };
            sink.write(&key, &BuiltPrompt { conversation: conversation.as_ref(), ..prompt.into() }, &mut line)?;
            Ok(String::from_utf8_lossy(&line).into_owned())
        };
        prompts.iter().enumerate().map(line).collect::<Result<Vec<_>>>()
    });
    written.or_raise(py)
}

/// Checks how answers are to be sampled.
#[pyfunction]
pub(crate) fn check_sampling(py: Python<'_>, sampling: &Bound<'_, PyAny>) -> PyResult<()> {
    match options_to_json(sampling)? {
        Value::Object(keys) => options(keys, None).map(drop).or_raise(py),
        _ => Ok(()),
    }
}

/// The keys of `sampling` that are not parameters of samples.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    seed: Option<u64>,
    model: Option<String>,
    run_id: Option<String>,
}

/// What a request asks for; keys that are not known are added to it.
fn options(mut keys: Map<String, Value>, max_out_len: Option<u64>) -> Result<RequestOptions> {
    let given = Value::Object(keys.clone());
    let sampling: SamplingParams = read_options(&given).at("sampling")?;
    let Named { seed, model, run_id } = read_options(&given).at("sampling")?;
    ["temperature", "top_p", "top_k", "seed", "model", "run_id"].iter().for_each(|key| drop(keys.shift_remove(*key)));
    let defaults = RequestOptions::default();
    let options = RequestOptions {
        sampling,
        seed,
        served_model_name: model,
        run_id,
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
