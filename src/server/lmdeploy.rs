//! Requests for LMDeploy's server: bodies of its `/generate`.
//!
//! Sources: `lmdeploy/serve/openai/protocol.py`, `lmdeploy/serve/openai/endpoints/generate.py` and
//! `lmdeploy/messages.py` of LMDeploy 0.16.0 and 0.18.0; recorded answers of 0.18.0.

use serde_json::json;

use crate::error::Result;
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::protocol::{MODELS, Tokenize, read_models};
use crate::server::request::Requests;
use crate::server::{Protocol, sglang};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "lmdeploy",
    about: "Bodies of LMDeploy's /generate",
    extension: "jsonl",
    accepts: Accepts::REQUEST,
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        let what = "LMDeploy ignores a stop string that is more than one token; trimming cuts at it";
        Ok(requests.warn_of_strings(what).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "LMDeploy",
    max_tokens: "max_tokens",
    seed: None,
    all_tokens: 0,
    // It always samples; from one token, this is greedy.
    greedy_top_k: 1,
    off: &[("min_p", "0"), ("repetition_penalty", "1")],
    prompt_keys: &["id", "input_ids"],
    needs_model: false,
    request_keys: None,
    scored_max_tokens: None,
};

/// Writes a body of LMDeploy's `/generate` for each prompt, with sampling and stops at its top level. The server
/// answers with `output_ids`. It assigns its own ids to requests; `id` is for the sender.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("id", &requests.id(key));
    requests.write_prompt("input_ids", built, body);
    requests.write_sampling(key, body);
    requests.write_stops(body);
    // Without it, the ids of an answer end before the stop.
    body.json("include_stop_str_in_output", true);
    requests.write_stream(body);
    Ok(())
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "lmdeploy",
    form: "lmdeploy",
    tokenize: Tokenize {
        path: "/v1/encode",
        body: |text, _| json!({"input": text, "add_bos": false}),
        is_certain: true,
    },
    descriptions: &[(MODELS, read_models)],
    max_tokens: ENGINE.max_tokens,
    repeats_text: false,
    refuses_in_stream: false,
    ..sglang::PROTOCOL
};
