//! Requests for SGLang: bodies of its native `/generate`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::builder::PromptBuilder;
use crate::error::Result;
use crate::server::keys::Keys;
use crate::server::protocol::{Tokenize, Usage, read_models};
use crate::server::request::{Stops, request_id, write_sampling};
use crate::server::{AnswerFormat, EngineAnswer, Protocol, Served, StopReason};
use crate::sink::{
    Accepts, BuiltPrompt, LineSink, OutputForm, PromptKey, Sink, refuse_unless_plain, write_ids, write_json,
    write_origin,
};

pub(crate) const FORM: OutputForm = OutputForm {
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

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "SGLang", keys: &["meta_info"], read };

/// What SGLang says beside an answer. LMDeploy's `/generate` has the same.
#[derive(Deserialize)]
struct MetaInfo<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    finish_reason: Option<Finish>,
}

/// Why it ended. Source: SGLang 0.5.23, as it answered.
#[derive(Deserialize)]
struct Finish {
    r#type: String,
    matched: Option<StopReason>,
}

fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let info: MetaInfo<'a> = keys.get("meta_info")?.unwrap_or(MetaInfo { id: None, finish_reason: None });
    let answer = keys.answer()?;
    let (finish_reason, stop_reason) = info.finish_reason.map(|finish| (finish.r#type, finish.matched)).unzip();
    Ok(vec![EngineAnswer {
        id: answer.id.clone().or_else(|| info.id.map(Cow::Borrowed)),
        token_ids: keys.get("output_ids")?,
        text: keys.get("text")?,
        finish_reason,
        stop_reason: stop_reason.flatten(),
        ..answer
    }])
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sglang",
    form: "sglang",
    path: "/generate",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, model| json!({"model": model, "prompt": text, "add_special_tokens": false}),
    },
    descriptions: &[("/v1/models", read_models), ("/get_server_info", read_server_info)],
    read,
    usage,
};

fn read_server_info(info: &Value, served: &mut Served) {
    let number = |pointer: &str| info.pointer(pointer).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    served.slots = served.slots.or(number("/internal_states/0/effective_max_running_requests_per_dp"));
    served.slots = served.slots.or(number("/max_running_requests"));
}

fn usage(keys: &Keys<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Counts {
        completion_tokens: Option<usize>,
        cached_tokens: Option<usize>,
    }

    let Counts { completion_tokens, cached_tokens } = keys.get("meta_info")?.unwrap_or_default();
    Ok(Usage { completion_tokens, cached_tokens })
}
