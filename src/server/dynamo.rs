//! Requests for NVIDIA Dynamo: bodies of its `/v1/completions` with a prompt of token ids.
//!
//! Sources: `lib/llm/src/protocols/openai/completions.rs` at 0284ad8, `common_ext.rs` at 4415465, `validate.rs` and
//! `lib/llm/src/preprocessor.rs` of 2026, and the page "NVIDIA Request Extensions (nvext)"; recorded answers of Dynamo
//! 1.6. The preprocessor leaves a prompt of ids unchanged. It reads `nvext.token_data` only if the prompt is text, and its
//! older versions then answer the text.

use crate::error::Result;
use crate::server::engine_keys::{EngineKeys, PENALTIES};
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::server::{Protocol, completions};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "dynamo",
    about: "Bodies of NVIDIA Dynamo's /v1/completions",
    extension: "jsonl",
    // The server rejects unknown keys.
    accepts: Accepts { served_model_name: true, columns: false, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        // Version 1.6 takes as many.
        Ok(requests.at_most_strings(builder, 32).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "Dynamo",
    max_tokens: "max_tokens",
    seed: Some(("seed", i64::MAX as u64)),
    all_tokens: -1,
    greedy_top_k: -1,
    off: PENALTIES,
    prompt_keys: &["user", "prompt"],
    needs_model: true,
    request_keys: None,
    scored_max_tokens: None,
};

/// Writes a body of `/v1/completions` for each prompt and requests the generated ids. The server assigns its own ids to
/// requests; `user` is for the sender.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("user", &requests.id(key));
    requests.write_model(body);
    requests.write_prompt("prompt", built, body);
    requests.write_sampling(key, body);
    requests.write_stops_if_any(body);
    body.json("nvext", r#"{"extra_fields":["completion_token_ids","stop_reason"]}"#);
    requests.write_openai_stream(body);
    Ok(())
}

pub(super) const PROTOCOL: Protocol = Protocol { name: "dynamo", form: "dynamo", ..completions::VLLM };
