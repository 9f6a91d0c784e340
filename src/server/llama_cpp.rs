//! Requests and answers of llama.cpp's server: its `/completion`.
//!
//! Sources: `tools/server/server-schema.cpp` at 0177c34; recorded answers of the server.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::server::engine_keys::EngineKeys;
use crate::server::object::Object;
use crate::server::protocol::{MODELS, Tokenize, Usage, number, read_models};
use crate::server::raw_object::RawObject;
use crate::server::request::Requests;
use crate::server::unfinished::unfinished;
use crate::server::{AnswerFormat, EngineAnswer, Protocol, Served, StopReason};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};
use crate::tokenizer::TokenId;

pub(crate) const FORM: OutputForm = OutputForm {
    name: "llama-cpp",
    about: "Bodies of llama.cpp's /completion",
    extension: "jsonl",
    accepts: Accepts::REQUEST,
    open: Some(|builder, options| {
        let requests = Requests::new(&ENGINE, builder, options.request)?;
        Ok(requests.warn_of_ignored_ids(builder).into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "llama.cpp",
    max_tokens: "n_predict",
    seed: Some(("seed", i32::MAX as u64)),
    all_tokens: 0,
    greedy_top_k: 0,
    off: &[
        ("min_p", "0"),
        ("typical_p", "1"),
        ("top_n_sigma", "-1"),
        ("xtc_probability", "0"),
        ("dynatemp_range", "0"),
        ("mirostat", "0"),
        ("adaptive_target", "-1"),
        ("repeat_penalty", "1"),
        ("presence_penalty", "0"),
        ("frequency_penalty", "0"),
        ("dry_multiplier", "0"),
    ],
    prompt_keys: &["id", "prompt"],
    needs_model: false,
    request_keys: None,
    scored_max_tokens: None,
};

/// Writes `prompt`, `stop` and `n_predict` for each prompt. The server stops at its model's own end tokens and ignores
/// `id` and `stop_token_ids`, which are for readers of the file.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    body.string("id", &requests.id(key));
    requests.write_prompt("prompt", built, body);
    requests.write_sampling(key, body);
    requests.write_stops(body);
    body.json("cache_prompt", true);
    body.json("return_tokens", true);
    requests.write_stream(body);
    Ok(())
}

pub(super) const ANSWERS: AnswerFormat =
    AnswerFormat { name: "llama.cpp", keys: &["content", "stop"], read: read_whole };

/// Why the answer ended, in llama.cpp's words. Source: recorded answers of the server.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopType {
    None,
    Eos,
    Word,
    Limit,
}

/// Servers of 2023 and 2024 have a key for each.
const OLDER: [(&str, StopType); 3] =
    [("stopped_eos", StopType::Eos), ("stopped_word", StopType::Word), ("stopped_limit", StopType::Limit)];

fn stop_type(object: &RawObject<'_>) -> Result<Option<StopType>> {
    if let Some(stop_type) = object.get("stop_type")? {
        return Ok(Some(stop_type));
    }
    for (key, stop_type) in OLDER {
        if object.get(key)? == Some(true) {
            return Ok(Some(stop_type));
        }
    }
    Ok(None)
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let text: String = object.get("content")?.unwrap_or_default();
    let tokens: Vec<TokenId> = object.get("tokens")?.unwrap_or_default();
    // Without `return_tokens` there are none, even if tokens were generated.
    let has_ids = !tokens.is_empty() || object.get("tokens_predicted")? == Some(0);
    let word: Option<String> = object.get("stopping_word")?;
    let answer = object.answer()?;
    Ok(vec![EngineAnswer {
        token_ids: has_ids.then_some(tokens),
        text: Some(text),
        finish_reason: match stop_type(object)? {
            Some(StopType::Eos | StopType::Word) => Some("stop".into()),
            Some(StopType::Limit) => Some("length".into()),
            Some(StopType::None) | None => None,
        },
        stop_reason: word.filter(|word| !word.is_empty()).map(StopReason::String),
        // The first one's number is that of an only answer, too.
        choice: object.get_own("index").filter(|index| *index > 0).or(answer.choice),
        ..answer
    }])
}

/// Reads an answer of a file, in which a part of a streamed answer is an error.
fn read_whole<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    match object.raw("stop").is_some_and(|stop| stop.get() == "false") {
        true => Err(unfinished("its \"stop\" is false")),
        false => read(object),
    }
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "llama-cpp",
    form: "llama-cpp",
    path: "/completion",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, _| json!({"content": text, "add_special": false, "parse_special": false}),
        is_certain: true,
    },
    descriptions: &[(MODELS, read_models), ("/props", read_props)],
    max_tokens: ENGINE.max_tokens,
    gives_ids: true,
    omits_ids: true,
    repeats_text: false,
    refuses_in_stream: false,
    read,
    usage,
};

fn read_props(props: &Value, served: &mut Served) {
    served.slots = served.slots.or(number(props, "/total_slots"));
    // This is the context of one slot.
    served.max_model_len = number(props, "/default_generation_settings/n_ctx").or(served.max_model_len);
}

fn usage(object: &RawObject<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Timings {
        cache_n: Option<usize>,
    }

    let Timings { cache_n } = object.get("timings")?.unwrap_or_default();
    Ok(Usage { completion_tokens: object.get("tokens_predicted")?, cached_tokens: cache_n })
}
