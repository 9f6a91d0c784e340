//! Requests with OpenAI's keys only, for any server with its API that takes a prompt of token ids: bodies of
//! `/v1/completions`.
//!
//! Source: `CreateCompletionRequest` of OpenAI's OpenAPI description, 2.3.0.

use serde_json::json;

use crate::error::{ErrorKind, Result};
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::protocol::Tokenize;
use crate::server::request::{Requests, Sampled};
use crate::server::{Protocol, completions};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "openai",
    about: "Bodies of /v1/completions with OpenAI's keys only",
    extension: "jsonl",
    accepts: Accepts { served_model_name: true, columns: false, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        Ok(requests.at_most_strings(builder, 4).warn_of_lost_ids(builder).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "OpenAI's API",
    max_tokens: "max_tokens",
    seed: Some(("seed", i64::MAX as u64)),
    all_tokens: 0,
    greedy_top_k: 0,
    off: &[("presence_penalty", "0"), ("frequency_penalty", "0")],
    prompt_keys: &["prompt"],
    needs_model: true,
    request_keys: None,
    scored_max_tokens: None,
};

/// Writes a body of `/v1/completions` for each prompt, with only the keys of OpenAI's API. The id is in `user`.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    requests.write_model(body);
    requests.write_prompt("prompt", built, body);
    let Sampled { max_tokens, temperature, top_p, top_k, seed } = requests.sampled(key);
    if top_k > 0 {
        let what = format!("OpenAI's API has no top_k, but {top_k} is requested");
        return Err(ErrorKind::Usage(what).with_way_out("use the server's own form"));
    }
    body.json("max_tokens", max_tokens);
    body.json("temperature", temperature);
    body.json("top_p", top_p);
    for (name, value) in ENGINE.off {
        body.json(name, value);
    }
    if let Some(seed) = seed {
        body.json("seed", seed);
    }
    requests.write_strings_if_any(body);
    body.string("user", &requests.id(key));
    requests.write_openai_stream(body);
    Ok(())
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "openai",
    form: "openai",
    // The body has vLLM's and llama.cpp's keys: each server reads its own.
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, model| json!({"model": model, "prompt": text, "content": text, "add_special_tokens": false, "add_special": false}),
        is_certain: false,
    },
    gives_ids: false,
    ..completions::VLLM
};
