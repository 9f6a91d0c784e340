//! Requests with OpenAI's keys only, for any server with its API that takes a prompt of token ids: bodies of
//! `/v1/completions`.
//!
//! Source: `CreateCompletionRequest` of OpenAI's OpenAPI description, 2.3.0.

use serde_json::json;

use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result, Warning};
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::protocol::Tokenize;
use crate::server::request::{Requests, Sampled};
use crate::server::{Protocol, completions};
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, RequestOptions, Sink};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "openai",
    about: "Bodies of /v1/completions with OpenAI's keys only",
    extension: "jsonl",
    accepts: Accepts { served_model_name: true, columns: false, ..Accepts::REQUEST },
    open: Some(|builder, options| Ok(Sink::lines(OpenAi::new(builder, options.request)?))),
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
    scored_max_tokens: None,
};

/// Writes a body of `/v1/completions` for each prompt, with only the keys of OpenAI's API. The id is in `user`.
#[derive(Debug)]
pub struct OpenAi {
    requests: Requests,
}

impl OpenAi {
    /// For the prompts of a builder.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if the model has no name, and for options that the API does not
    /// have.
    pub fn new(builder: &PromptBuilder, options: RequestOptions) -> Result<Self> {
        let requests = Requests::new(&ENGINE, builder, options)?;
        Ok(Self { requests: requests.at_most_strings(builder, 4).warn_of_lost_ids(builder) })
    }
}

impl LineSink for OpenAi {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        let requests = &self.requests;
        requests.check(key, built)?;
        let mut body = Object::open(out, &requests.options.params);
        requests.write_model(&mut body);
        requests.write_prompt("prompt", built, &mut body);
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
        requests.write_strings_if_any(&mut body);
        body.string("user", &requests.id(key));
        requests.write_openai_stream(&mut body);
        body.close_line(key);
        Ok(())
    }

    fn warnings(&self) -> &[Warning] {
        &self.requests.warnings
    }
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
