//! Requests for vLLM: bodies of `/v1/completions` with token ids for a prompt, or the file that
//! `vllm run-batch` reads.

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::server::Protocol;
use crate::server::completions;
use crate::server::request::{Stops, request_id, write_sampling};
use crate::sink::{
    Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink, refuse_unless_plain, write_ids, write_json,
    write_origin,
};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "vllm",
    about: "Bodies of vLLM's /v1/completions",
    ending: "jsonl",
    accepts: ACCEPTS,
    open: Some(|builder, options| Ok(Sink::lines(Vllm::new(builder, options.served_model_name.as_deref())))),
};

pub(crate) const BATCH_FORM: OutputForm = OutputForm {
    name: "vllm-batch",
    about: "The file that `vllm run-batch` reads",
    ending: "jsonl",
    accepts: ACCEPTS,
    open: Some(|builder, options| Ok(Sink::lines(Vllm::batch(builder, options.served_model_name.as_deref())))),
};

const ACCEPTS: Accepts = Accepts { served_model_name: true, ..Accepts::LINE };

/// Writes a body of `/v1/completions` for each prompt.
#[derive(Debug)]
pub struct Vllm {
    stops: Stops,
    model: Option<String>,
    is_batch: bool,
}

impl Vllm {
    /// Bodies, for the `model` that the server calls so; servers of one model need no name.
    pub fn new(builder: &PromptBuilder, model: Option<&str>) -> Self {
        Self { stops: Stops::new(builder), model: model.map(str::to_owned), is_batch: false }
    }

    /// Lines of OpenAI's batch format, for `vllm run-batch`.
    pub fn batch(builder: &PromptBuilder, model: Option<&str>) -> Self {
        Self { is_batch: true, ..Self::new(builder, model) }
    }
}

impl LineSink for Vllm {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        refuse_unless_plain("vLLM", key, built)?;
        let id = request_id(key);
        if self.is_batch {
            out.extend_from_slice(b"{\"custom_id\":");
            write_json(&id, out);
            out.extend_from_slice(b",\"method\":\"POST\",\"url\":\"/v1/completions\",\"body\":{");
        } else {
            out.extend_from_slice(b"{\"request_id\":");
            write_json(&id, out);
            out.push(b',');
        }
        if let Some(model) = &self.model {
            out.extend_from_slice(b"\"model\":");
            write_json(model, out);
            out.push(b',');
        }
        out.extend_from_slice(b"\"prompt\":");
        write_ids(built.prompt.input_ids.iter().copied(), out);
        write_sampling("max_tokens", key, out);
        out.push(b',');
        self.stops.write(out);
        // For trimming, and for answers to earlier turns, which want ids.
        out.extend_from_slice(b",\"return_token_ids\":true");
        if self.is_batch {
            out.push(b'}');
        }
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}

pub(super) const PROTOCOL: Protocol = completions::VLLM;
