//! Requests for vLLM: bodies of `/v1/completions` with a prompt of token ids.
//!
//! Sources: `vllm/entrypoints/openai/completion/protocol.py` at 002032e and `vllm/sampling_params.py` at 00388f6;
//! recorded answers of vLLM 0.32.

use crate::builder::PromptBuilder;
use crate::error::{Result, Warning};
use crate::server::engine_keys::{EngineKeys, PENALTIES};
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::server::{Protocol, completions};
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, RequestOptions, Sink};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "vllm",
    about: "Bodies of vLLM's /v1/completions",
    extension: "jsonl",
    accepts: Accepts { scores: true, served_model_name: true, ..Accepts::REQUEST },
    open: Some(|builder, options| Ok(Sink::lines(Vllm::new(builder, options.request)?))),
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
    scored_max_tokens: Some(1),
};

/// Writes a body of `/v1/completions` for each prompt.
#[derive(Debug)]
pub struct Vllm {
    requests: Requests,
}

impl Vllm {
    /// For the prompts of a builder. A server with one model does not need the model's name.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that vLLM does not take.
    pub fn new(builder: &PromptBuilder, options: RequestOptions) -> Result<Self> {
        Ok(Self { requests: Requests::new(&ENGINE, builder, options)?.at_most_strings(builder, 4) })
    }
}

impl LineSink for Vllm {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        let requests = &self.requests;
        requests.check(key, built)?;
        let mut body = Object::open(out, &requests.options.params);
        body.string("request_id", &requests.id(key));
        requests.write_model(&mut body);
        requests.write_prompt("prompt", built, &mut body);
        requests.write_sampling(key, &mut body);
        requests.write_stops(&mut body);
        write_scoring(requests, &mut body);
        // Trimming and answers to earlier turns need the ids.
        body.json("return_token_ids", true);
        // Stop strings are sought in this text. Since 0.33 the model's generation_config.json may say otherwise.
        body.json("skip_special_tokens", true);
        requests.write_openai_stream(&mut body);
        body.close_line(key);
        Ok(())
    }

    fn warnings(&self) -> &[Warning] {
        &self.requests.warnings
    }
}

/// Requests the log-probability of each token of a text to score, and no others.
pub(super) fn write_scoring(requests: &Requests, object: &mut Object<'_>) {
    if requests.scores_texts() {
        object.json("prompt_logprobs", 0);
    }
}

pub(super) const PROTOCOL: Protocol = completions::VLLM;
