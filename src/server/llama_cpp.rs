//! Requests for llama.cpp's server: bodies of `/completion` with token ids for a prompt.

use serde::Deserialize;
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
use crate::tokenizer::TokenId;

pub(crate) const FORM: OutputForm = OutputForm {
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

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "llama.cpp", keys: &["content", "stop"], read };

/// Why it ended, in llama.cpp's own words. Source: its server, as it answered.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopType {
    None,
    Eos,
    Word,
    Limit,
}

fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let text: String = keys.get("content")?.unwrap_or_default();
    let tokens: Vec<TokenId> = keys.get("tokens")?.unwrap_or_default();
    // Without `return_tokens` there are none, whatever was generated.
    let has_ids = !tokens.is_empty() || keys.get("tokens_predicted")? == Some(0);
    let stop_type: Option<StopType> = keys.get("stop_type")?;
    let word: Option<String> = keys.get("stopping_word")?;
    Ok(vec![EngineAnswer {
        token_ids: has_ids.then_some(tokens),
        text: Some(text),
        finish_reason: match stop_type {
            Some(StopType::Eos | StopType::Word) => Some("stop".into()),
            Some(StopType::Limit) => Some("length".into()),
            Some(StopType::None) | None => None,
        },
        stop_reason: word.filter(|word| !word.is_empty()).map(StopReason::String),
        ..keys.answer()?
    }])
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "llama-cpp",
    form: "llama-cpp",
    path: "/completion",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, _| json!({"content": text, "add_special": false, "parse_special": false}),
    },
    descriptions: &[("/v1/models", read_models), ("/props", read_props)],
    read,
    usage,
};

fn read_props(props: &Value, served: &mut Served) {
    let number = |pointer: &str| props.pointer(pointer).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    served.slots = served.slots.or(number("/total_slots"));
    // Of one slot.
    served.max_model_len = number("/default_generation_settings/n_ctx").or(served.max_model_len);
}

fn usage(keys: &Keys<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Timings {
        cache_n: Option<usize>,
    }

    let Timings { cache_n } = keys.get("timings")?.unwrap_or_default();
    Ok(Usage { completion_tokens: keys.get("tokens_predicted")?, cached_tokens: cache_n })
}
