//! Requests for llama.cpp's server: bodies of `/completion` with token ids for a prompt.

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::sink::engine::{Stops, refuse_unless_plain, request_id, write_sampling};
use crate::sink::json::{write_ids, write_json, write_origin};
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink};

pub(super) const FORM: OutputForm = OutputForm {
    name: "llama-cpp",
    about: "Bodies of llama.cpp's /completion",
    ending: "jsonl",
    accepts: Accepts::LINE,
    open: Some(|builder, _| Ok(Sink::lines(LlamaCpp::new(builder)))),
};

/// Writes `prompt`, `stop` and `n_predict` for each prompt. The server stops at its model's own end tokens;
/// `id` and `stop_token_ids` are for whoever reads the file, and it does not look at them.
#[derive(Debug)]
pub struct LlamaCpp {
    stops: Stops,
}

impl LlamaCpp {
    /// For the prompts of a builder.
    pub fn new(builder: &PromptBuilder) -> Self {
        Self { stops: Stops::new(builder) }
    }
}

impl LineSink for LlamaCpp {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        refuse_unless_plain("llama.cpp", key, built)?;
        out.extend_from_slice(b"{\"id\":");
        write_json(&request_id(key), out);
        out.extend_from_slice(b",\"prompt\":");
        write_ids(built.prompt.input_ids.iter().copied(), out);
        write_sampling("n_predict", key, out);
        out.push(b',');
        self.stops.write(out);
        out.extend_from_slice(b",\"cache_prompt\":true,\"return_tokens\":true");
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}
