//! Requests for TensorRT-LLM's server, `trtllm-serve`: bodies of its `/v1/completions`.
//!
//! Sources: `tensorrt_llm/serve/openai_protocol.py` at 0076e93, `tensorrt_llm/serve/postprocess_handlers.py` at 01bf192
//! and `tensorrt_llm/sampling_params.py` at 000a01d.

use crate::error::Result;
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "trtllm",
    about: "Bodies of TensorRT-LLM's /v1/completions",
    extension: "jsonl",
    // The server rejects unknown keys.
    accepts: Accepts { served_model_name: true, columns: false, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        let what = "TensorRT-LLM looks for the ids of a stop string, and misses the string if the model writes it with other ids";
        Ok(requests.warn_of_strings(what).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "TensorRT-LLM",
    max_tokens: "max_tokens",
    seed: Some(("seed", i64::MAX as u64)),
    all_tokens: 0,
    // Not every version reads temperature 0 as greedy, but every version takes this.
    greedy_top_k: 1,
    off: &[
        ("min_p", "0"),
        ("top_p_min", "0"),
        ("presence_penalty", "0"),
        ("frequency_penalty", "0"),
        ("repetition_penalty", "1"),
    ],
    prompt_keys: &["user", "prompt"],
    needs_model: true,
    request_keys: None,
    scored_max_tokens: None,
};

/// Writes a body of `/v1/completions` for each prompt. The server returns ids only if it is asked not to decode them.
/// It assigns its own ids to requests; `user` is for the sender.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("user", &requests.id(key));
    requests.write_model(body);
    requests.write_prompt("prompt", built, body);
    requests.write_sampling(key, body);
    requests.write_stops(body);
    body.json("detokenize", false);
    requests.write_openai_stream(body);
    Ok(())
}
