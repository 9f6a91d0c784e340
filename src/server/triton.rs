//! Requests and answers of Triton with TensorRT-LLM's backend: tensors as JSON, in KServe's protocol.
//!
//! Sources: `triton_backend/all_models/inflight_batcher_llm/tensorrt_llm/config.pbtxt` at 0c8de69 and `1/model.py` at
//! 0d5352f of TensorRT-LLM; `docs/model_config.md` of tensorrtllm_backend at 0b9d7d5.

use std::io::Write;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{At, Error, ErrorKind, Result};
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::raw_object::RawObject;
use crate::server::request::{Requests, Sampled};
use crate::server::{AnswerFormat, EngineAnswer};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey, write_numbers};
use crate::tokenizer::TokenId;
use crate::wording;

pub(crate) const FORM: OutputForm = OutputForm {
    name: "triton",
    about: "Tensors as JSON for Triton's tensorrt_llm model",
    extension: "jsonl",
    accepts: Accepts { columns: false, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        options.request.params.iter().try_for_each(|(name, value)| check_input(name, value))?;
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        let what = "Triton's tensors have no stop strings; trimming cuts at them";
        Ok(requests.warn_of_strings(what).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "Triton",
    max_tokens: "request_output_len",
    seed: Some(("seed", u64::MAX)),
    all_tokens: 0,
    greedy_top_k: 1,
    off: &[],
    prompt_keys: &["input_ids", "input_lengths"],
    needs_model: false,
    // All parameters are inputs.
    request_keys: Some(&[]),
    scored_max_tokens: None,
};

/// The inputs that are one number, with their types.
const NUMBERS: &[(&str, &str)] = &[
    ("request_output_len", "INT32"),
    ("temperature", "FP32"),
    ("runtime_top_k", "INT32"),
    ("runtime_top_p", "FP32"),
    ("runtime_top_p_min", "FP32"),
    ("runtime_top_p_decay", "FP32"),
    ("runtime_top_p_reset_ids", "INT32"),
    ("repetition_penalty", "FP32"),
    ("presence_penalty", "FP32"),
    ("frequency_penalty", "FP32"),
    ("len_penalty", "FP32"),
    ("beam_width", "INT32"),
    ("beam_search_diversity_rate", "FP32"),
    ("early_stopping", "BOOL"),
    ("min_tokens", "INT32"),
    ("num_return_sequences", "INT32"),
    ("seed", "UINT64"),
    ("end_id", "INT32"),
    ("pad_id", "INT32"),
    ("exclude_input_in_output", "BOOL"),
    ("return_log_probs", "BOOL"),
    ("return_context_logits", "BOOL"),
    ("return_generation_logits", "BOOL"),
    ("return_perf_metrics", "BOOL"),
    ("streaming", "BOOL"),
    ("lora_task_id", "UINT64"),
];

/// Writes a request in KServe's protocol for each prompt, for `/v2/models/tensorrt_llm/infer`.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("id", &requests.id(key));
    if let Some(out) = body.key("inputs") {
        out.push(b'[');
        write_inputs(requests, key, &built.prompt.input_ids, out);
        out.push(b']');
    }
    body.json("outputs", r#"[{"name":"output_ids"},{"name":"sequence_length"}]"#);
    Ok(())
}

fn write_inputs(requests: &Requests, key: &PromptKey<'_>, ids: &[TokenId], out: &mut Vec<u8>) {
    let mut inputs = Inputs { out, params: &requests.params.nested };
    inputs.ids("input_ids", &[1, ids.len()], ids.iter().copied());
    inputs.out.push(b',');
    inputs.ids("input_lengths", &[1, 1], [ids.len()].into_iter());
    let Sampled { max_tokens, temperature, top_p, top_k, seed } = requests.sampled(key);
    inputs.number("request_output_len", max_tokens);
    // The model rejects temperature 0. Sampling from the likeliest token only has the same effect.
    inputs.number("temperature", if temperature == 0.0 { 1.0 } else { temperature });
    inputs.number("runtime_top_k", top_k);
    inputs.number("runtime_top_p", top_p);
    inputs.number("repetition_penalty", 1);
    inputs.number("presence_penalty", 0);
    inputs.number("frequency_penalty", 0);
    if let Some(seed) = seed {
        inputs.number("seed", seed);
    }
    inputs.number("exclude_input_in_output", true);
    if requests.options.stream {
        inputs.number("streaming", true);
    }
    inputs.stops(&requests.stop_token_ids);
    inputs.params();
}

/// Writes tensors. The user's own override all but the first two.
struct Inputs<'i> {
    out: &'i mut Vec<u8>,
    params: &'i Map<String, Value>,
}

impl Inputs<'_> {
    fn ids<N: itoa::Integer>(&mut self, name: &str, shape: &[usize], ids: impl Iterator<Item = N>) {
        self.open(name, "INT32", shape);
        write_numbers(ids, self.out);
        self.out.push(b'}');
    }

    fn number(&mut self, name: &str, value: impl std::fmt::Display) {
        if !self.params.contains_key(name) {
            self.write_number(name, &value);
        }
    }

    fn params(&mut self) {
        let params = self.params;
        params.iter().for_each(|(name, value)| self.write_number(name, value));
    }

    fn write_number(&mut self, name: &str, value: &impl std::fmt::Display) {
        let datatype =
            datatype(name).expect("parameters are checked when the form is opened, and all others are in the table");
        self.out.push(b',');
        self.open(name, datatype, &[1, 1]);
        write!(self.out, "[{value}]}}").expect("writing to memory cannot fail");
    }

    /// One word for each id, and then where each word ends.
    fn stops(&mut self, ids: &[TokenId]) {
        if ids.is_empty() {
            return;
        }
        self.out.push(b',');
        let ends = 1..=ids.len() as u64;
        self.ids("stop_words_list", &[1, 2, ids.len()], ids.iter().map(|id| u64::from(*id)).chain(ends));
    }

    fn open(&mut self, name: &str, datatype: &str, shape: &[usize]) {
        write!(self.out, "{{\"name\":\"{name}\",\"datatype\":\"{datatype}\",\"shape\":")
            .expect("writing to memory cannot fail");
        write_numbers(shape.iter().copied(), self.out);
        self.out.extend_from_slice(b",\"data\":");
    }
}

fn datatype(name: &str) -> Option<&'static str> {
    NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, datatype)| *datatype)
}

fn check_input(name: &str, value: &Value) -> Result<()> {
    if datatype(name).is_none() {
        let known: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
        return Err(ErrorKind::UnknownName { what: "input of Triton's model", name: name.to_owned(), known }.into());
    }
    if value.is_number() || value.is_boolean() {
        return Ok(());
    }
    Err(ErrorKind::Usage(format!("the input {name:?} of Triton's model must be a number, true or false, not {value}"))
        .into())
}

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "Triton", keys: &["model_name", "outputs"], read };

#[derive(Deserialize)]
struct Output<'a> {
    name: String,
    #[serde(default)]
    shape: Vec<usize>,
    /// Numbers of any type, or texts.
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The numbers of an output, the one with this number.
fn integers((at, output): (usize, &Output<'_>)) -> Result<Vec<i64>> {
    let read = serde_json::from_str(output.data.get()).map_err(|error| Error::from(wording::in_value(&error)));
    read.at(format_args!("outputs[{at}].data"))
}

/// Reads each beam or sequence: the rows of `output_ids`, which are as long as the longest one.
fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let outputs: Vec<Output> = object.get("outputs")?.unwrap_or_default();
    let find = |name: &str| outputs.iter().enumerate().find(|(_, output)| output.name == name);
    let found = find("output_ids").ok_or_else(|| ErrorKind::Invalid("there is no output \"output_ids\"".into()))?;
    let ids = integers(found)?;
    let lengths = find("sequence_length").map_or(Ok(Vec::new()), integers)?;
    let row_length = match found.1.shape[..] {
        [.., _, row_length] if row_length > 0 && ids.len().is_multiple_of(row_length) => row_length,
        _ => ids.len().max(1),
    };
    let (answer, is_only) = (object.answer()?, ids.len() <= row_length);
    answer.check_shared_by(ids.len() / row_length, 0)?;
    let read = |(choice, row): (usize, &[i64])| {
        let length = lengths.get(choice).and_then(|length| usize::try_from(*length).ok()).unwrap_or(usize::MAX);
        // Shorter beams are padded with -1.
        let ids = row.iter().take(length).map_while(|id| TokenId::try_from(*id).ok());
        EngineAnswer { token_ids: Some(ids.collect()), choice: (!is_only).then_some(choice), ..answer.clone() }
    };
    Ok(match ids.is_empty() {
        true => vec![EngineAnswer { token_ids: Some(Vec::new()), ..answer }],
        false => ids.chunks(row_length).enumerate().map(read).collect(),
    })
}
