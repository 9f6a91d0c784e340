//! Requests for SGLang: bodies of its native `/generate`.

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::sink::engine::{Stops, refuse_unless_plain, request_id, write_sampling};
use crate::sink::json::{write_ids, write_json, write_origin};
use crate::sink::{Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink};

pub(super) const FORM: OutputForm = OutputForm {
    name: "sglang",
    about: "Bodies of SGLang's /generate",
    ending: "jsonl",
    accepts: Accepts::LINE,
    open: Some(|builder, _| Ok(Sink::lines(Sglang::new(builder)))),
};

/// Writes `rid`, `input_ids` and `sampling_params` for each prompt.
#[derive(Debug)]
pub struct Sglang {
    stops: Stops,
}

impl Sglang {
    /// For the prompts of a builder.
    pub fn new(builder: &PromptBuilder) -> Self {
        Self { stops: Stops::new(builder) }
    }
}

impl LineSink for Sglang {
    fn write(&self, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, out: &mut Vec<u8>) -> Result<()> {
        refuse_unless_plain("SGLang", key, built)?;
        out.extend_from_slice(b"{\"rid\":");
        write_json(&request_id(key), out);
        out.extend_from_slice(b",\"input_ids\":");
        write_ids(built.prompt.input_ids.iter().copied(), out);
        out.extend_from_slice(b",\"sampling_params\":{");
        self.stops.write(out);
        write_sampling("max_new_tokens", key, out);
        out.push(b'}');
        write_origin(key, out);
        out.extend_from_slice(b"}\n");
        Ok(())
    }
}
