//! Requests for LMDeploy's server: bodies of its `/generate`.

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::server::request::{Stops, request_id, write_sampling};
use crate::sink::{
    Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink, refuse_unless_plain, write_ids, write_json,
    write_origin,
};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "lmdeploy",
    about: "Bodies of LMDeploy's /generate",
    ending: "jsonl",
    accepts: Accepts::LINE,
    open: Some(|builder, _| Ok(Sink::lines(Lmdeploy::new(builder)))),
};

/// Writes a body of LMDeploy's `/generate` for each prompt: `input_ids`, `max_tokens` and stops, which stand side by side there.
/// The server answers with `output_ids`. It gives requests numbers of its own; `id` is for whoever sends them.
#[derive(Debug)]
pub struct Lmdeploy {
    stops: Stops,
}

impl Lmdeploy {
    /// For the prompts of a builder.
    pub fn new(builder: &PromptBuilder) -> Self {
        Self { stops: Stops::new(builder) }
    }
}

impl LineSink for Lmdeploy {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        refuse_unless_plain("LMDeploy", key, built)?;
        out.extend_from_slice(b"{\"id\":");
        write_json(&request_id(key), out);
        out.extend_from_slice(b",\"input_ids\":");
        write_ids(built.prompt.input_ids.iter().copied(), out);
        write_sampling("max_tokens", key, out);
        out.push(b',');
        self.stops.write(out);
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}
