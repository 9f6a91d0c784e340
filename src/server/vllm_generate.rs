//! Requests for vLLM's `/inference/v1/generate`, which takes and returns token ids.
//!
//! Sources: `vllm/entrypoints/scale_out/token_in_token_out/protocol.py` at 006ebac and `vllm/sampling_params.py` at
//! 00388f6; recorded answers of vLLM 0.32.

use crate::builder::PromptBuilder;
use crate::error::{Result, Warning};
use crate::server::engine_keys::EngineKeys;
use crate::server::nested_params::NestedParams;
use crate::server::object::Object;
use crate::server::request::Requests;
use crate::server::vllm;
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, RequestOptions, Sink};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "vllm-generate",
    about: "Bodies of vLLM's /inference/v1/generate",
    extension: "jsonl",
    accepts: Accepts { scores: true, served_model_name: true, ..Accepts::REQUEST },
    open: Some(|builder, options| Ok(Sink::lines(VllmGenerate::new(builder, options.request)?))),
};

const ENGINE: EngineKeys = EngineKeys { prompt_keys: &["request_id", "token_ids", "sampling_params"], ..vllm::ENGINE };

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
#[derive(Debug)]
pub struct VllmGenerate {
    requests: Requests,
    params: NestedParams,
}

impl VllmGenerate {
    /// For the prompts of a builder. A server with one model does not need the model's name.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that vLLM does not take.
    pub fn new(builder: &PromptBuilder, options: RequestOptions) -> Result<Self> {
        let params = NestedParams::new(&options.params, REQUEST_KEYS);
        Ok(Self { requests: Requests::new(&ENGINE, builder, options)?, params })
    }
}

impl LineSink for VllmGenerate {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        let requests = &self.requests;
        requests.check(key, built)?;
        let mut body = Object::open(out, &self.params.request);
        body.string("request_id", &requests.id(key));
        requests.write_model(&mut body);
        requests.write_prompt("token_ids", built, &mut body);
        body.object("sampling_params", &self.params.sampling, |sampling| {
            requests.write_sampling(key, sampling);
            requests.write_stops(sampling);
            vllm::write_scoring(requests, sampling);
        });
        requests.write_openai_stream(&mut body);
        body.close_line(key);
        Ok(())
    }

    fn warnings(&self) -> &[Warning] {
        &self.requests.warnings
    }
}
