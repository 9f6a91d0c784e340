//! Requests for vLLM's `/inference/v1/generate`, which takes and returns token ids.
//!
//! Sources: `vllm/entrypoints/scale_out/token_in_token_out/protocol.py` at 006ebac and `vllm/sampling_params.py` at
//! 00388f6; recorded answers of vLLM 0.32.

use crate::error::Result;
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::server::vllm;
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "vllm-generate",
    about: "Bodies of vLLM's /inference/v1/generate",
    extension: "jsonl",
    accepts: Accepts { scores: true, served_model_name: true, ..Accepts::REQUEST },
    open: Some(|builder, options| Ok(Requests::new(&ENGINE, builder, options.request)?.into_sink(write))),
};

const ENGINE: EngineKeys = EngineKeys {
    prompt_keys: &["request_id", "token_ids", "sampling_params"],
    request_keys: Some(REQUEST_KEYS),
    ..vllm::ENGINE
};

/// The keys of a request. Others are keys of its `sampling_params`.
const REQUEST_KEYS: &[&str] = &[
    "model",
    "stream",
    "stream_options",
    "return_token_ids",
    "output_mode",
    "cache_salt",
    "priority",
    "kv_transfer_params",
    "ec_transfer_params",
    "reasoning_ended",
    "reasoning_parser_kwargs",
    "parse_context",
    "token_offsets",
    "features",
    "content_parts",
];

/// Writes `request_id`, `token_ids` and `sampling_params` for each prompt.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("request_id", &requests.id(key));
    requests.write_model(body);
    requests.write_prompt("token_ids", built, body);
    body.object("sampling_params", &requests.params.nested, |sampling| {
        requests.write_sampling(key, sampling);
        requests.write_stops(sampling);
        vllm::write_scoring(requests, sampling);
    });
    requests.write_openai_stream(body);
    Ok(())
}
