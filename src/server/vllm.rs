//! Requests for vLLM: bodies of `/v1/completions` with a prompt of token ids.
//!
//! Sources: `vllm/entrypoints/openai/completion/protocol.py` at 002032e and `vllm/sampling_params.py` at 00388f6;
//! recorded answers of vLLM 0.32.

use crate::error::Result;
use crate::server::engine_keys::{EngineKeys, PENALTIES};
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::server::{Protocol, completions};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "vllm",
    about: "Bodies of vLLM's /v1/completions",
    extension: "jsonl",
    accepts: Accepts { scores: true, served_model_name: true, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        Ok(requests.at_most_strings(builder, 4).into_sink(write))
    }),
};

pub(super) const ENGINE: EngineKeys = EngineKeys {
    name: "vLLM",
    max_tokens: "max_tokens",
    seed: Some(("seed", i64::MAX as u64)),
    // Every version takes -1; only versions since 0.9 take 0 (pull request 17773).
    all_tokens: -1,
    greedy_top_k: -1,
    off: PENALTIES,
    prompt_keys: &["request_id", "prompt"],
    needs_model: false,
    request_keys: None,
    scored_max_tokens: Some(1),
};

/// Writes a body of `/v1/completions` for each prompt.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("request_id", &requests.id(key));
    requests.write_model(body);
    requests.write_prompt("prompt", built, body);
    requests.write_sampling(key, body);
    requests.write_stops(body);
    write_scoring(requests, body);
    // Trimming and answers to earlier turns need the ids.
    body.json("return_token_ids", true);
    // Stop strings are sought in this text. Since 0.33 the model's generation_config.json may say otherwise.
    body.json("skip_special_tokens", true);
    requests.write_openai_stream(body);
    Ok(())
}

/// Requests the log-probability of each token of a text to score, and no others.
pub(super) fn write_scoring(requests: &Requests, object: &mut Object<'_>) {
    if requests.scores_texts() {
        object.json("prompt_logprobs", 0);
    }
}

pub(super) const PROTOCOL: Protocol = completions::VLLM;
