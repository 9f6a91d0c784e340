//! Requests and answers of SGLang: its native `/generate`.
//!
//! Sources: `GenerateReqInput` in `python/sglang/srt/managers/io_struct.py` at 001067f and
//! `python/sglang/srt/sampling/sampling_params.py` at 00c17ca; recorded answers of SGLang 0.5.23.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{Result, Warning};
use crate::server::engine_keys::{EngineKeys, PENALTIES};
use crate::server::object::Object;
use crate::server::protocol::{MODELS, Tokenize, Usage, number, read_models};
use crate::server::raw_object::RawObject;
use crate::server::request::{Requests, first_scored};
use crate::server::token_logprobs::{SglangLogprob, all};
use crate::server::unfinished::{NO_REASON, is_null, unfinished};
use crate::server::{AnswerFormat, EngineAnswer, Protocol, Served, StopReason};
use crate::sink::{Accepts, BuiltPrompt, OutputForm, PromptKey};

pub(crate) const FORM: OutputForm = OutputForm {
    name: "sglang",
    about: "Bodies of SGLang's /generate",
    extension: "jsonl",
    accepts: Accepts { scores: true, ..Accepts::REQUEST },
    open: Some(|builder, options| {
        let mut requests = Requests::new(&ENGINE, builder, options.request)?;
        if requests.options.seed.is_some() {
            let what = "SGLang uses a request's seed only if it was started with deterministic inference enabled";
            requests.warnings.push(Warning::new("seed-needs-mode", what));
        }
        Ok(requests.into_sink(write))
    }),
};

const ENGINE: EngineKeys = EngineKeys {
    name: "SGLang",
    max_tokens: "max_new_tokens",
    seed: Some(("sampling_seed", i64::MAX as u64)),
    all_tokens: -1,
    greedy_top_k: -1,
    off: PENALTIES,
    prompt_keys: &["rid", "input_ids", "sampling_params"],
    needs_model: false,
    request_keys: Some(REQUEST_KEYS),
    scored_max_tokens: Some(0),
};

/// The keys of a request. Others are keys of its `sampling_params`.
const REQUEST_KEYS: &[&str] = &[
    "stream",
    "return_logprob",
    "logprob_start_len",
    "top_logprobs_num",
    "token_ids_logprob",
    "return_text_in_logprobs",
    "return_prompt_token_ids",
    "return_hidden_states",
    "return_routed_experts",
    "return_entropy",
    "log_metrics",
    "no_logs",
    "lora_path",
    "custom_logit_processor",
    "session_id",
    "session_params",
    "routed_dp_rank",
    "routing_key",
    "conversation_id",
    "require_reasoning",
    "max_thinking_tokens",
    "priority",
    "extra_key",
    "cache_salt",
    "custom_labels",
];

/// Writes `rid`, `input_ids` and `sampling_params` for each prompt; no `rid` where answers are streamed, which come on the
/// connection of their request.
fn write(requests: &Requests, key: &PromptKey<'_>, built: &BuiltPrompt<'_>, body: &mut Object<'_>) -> Result<()> {
    // Seconds after a stream has ended, SGLang aborts whatever has its `rid`: a request of the next run, or one that is
    // tried again.
    if !requests.options.stream {
        body.string("rid", &requests.id(key));
    }
    requests.write_prompt("input_ids", built, body);
    body.object("sampling_params", &requests.params.nested, |sampling| {
        requests.write_sampling(key, sampling);
        requests.write_stops(sampling);
    });
    if requests.scores_texts() {
        body.json("return_logprob", true);
        // The first of the returned tokens has no log-probability.
        body.json("logprob_start_len", first_scored(built).saturating_sub(1));
    }
    requests.write_stream(body);
    Ok(())
}

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "SGLang", keys: &["meta_info"], read: read_whole };

/// SGLang's metadata of an answer. LMDeploy's `/generate` has the same, without an id.
#[derive(Default, Deserialize)]
struct MetaInfo<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<Finish<'a>>,
    input_token_logprobs: Option<Vec<SglangLogprob>>,
}

/// Why the answer ended. Source: recorded answers of SGLang 0.5.23.
#[derive(Deserialize)]
struct Finish<'a> {
    r#type: String,
    matched: Option<StopReason>,
    /// Why it was aborted.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    Ok(vec![answer(object)?.0])
}

/// Reads an answer of a file, in which one that was aborted and says why is an error, and so is a part of a streamed one.
fn read_whole<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let (answer, error) = answer(object)?;
    if answer.finish_reason.is_none() {
        check_whole(object)?;
    }
    Ok(vec![EngineAnswer { error, ..answer }])
}

fn check_whole(object: &RawObject<'_>) -> Result<()> {
    #[derive(Default, Deserialize)]
    struct MetaInfo {
        #[serde(default, rename = "finish_reason", deserialize_with = "is_null")]
        goes_on: bool,
    }

    let MetaInfo { goes_on } = object.get("meta_info")?.unwrap_or_default();
    if goes_on { Err(unfinished(NO_REASON)) } else { Ok(()) }
}

/// An answer, and why it was aborted, if it says so.
fn answer<'a>(object: &RawObject<'a>) -> Result<(EngineAnswer<'a>, Option<&'a RawValue>)> {
    let info: MetaInfo<'a> = object.get("meta_info")?.unwrap_or_default();
    let answer = object.answer()?;
    let (mut finish_reason, mut stop_reason, mut aborted) = (None, None, None);
    if let Some(Finish { r#type, matched, message }) = info.finish_reason {
        aborted = message.filter(|_| r#type == "abort");
        (finish_reason, stop_reason) = (Some(r#type), matched);
    }
    let answer = EngineAnswer {
        id: answer.id.clone().or_else(|| info.id.map(Cow::Borrowed)),
        prompt_logprobs: all(info.input_token_logprobs),
        token_ids: object.get("output_ids")?,
        text: object.get("text")?,
        finish_reason,
        stop_reason,
        stop_is_optional: info.id.is_none(),
        ..answer
    };
    Ok((answer, aborted))
}

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sglang",
    form: "sglang",
    path: "/generate",
    health: "/health",
    tokenize: Tokenize {
        path: "/tokenize",
        body: |text, model| json!({"model": model, "prompt": text, "add_special_tokens": false}),
        is_certain: true,
    },
    descriptions: &[(MODELS, read_models), ("/get_server_info", read_server_info)],
    max_tokens: ENGINE.max_tokens,
    gives_ids: true,
    omits_ids: false,
    repeats_text: true,
    refuses_in_stream: true,
    read,
    usage,
};

fn read_server_info(info: &Value, served: &mut Served) {
    served.slots = served.slots.or(number(info, "/internal_states/0/effective_max_running_requests_per_dp"));
    served.slots = served.slots.or(number(info, "/max_running_requests"));
    // As of 0.5.23, a prompt of this length is rejected, and six tokens more are all that fit into the context or the cache.
    if let Some(refused) = number(info, "/max_req_input_len") {
        served.max_prompt_len = Some(refused.saturating_sub(1));
        let all = refused.saturating_add(6);
        served.max_model_len = Some(served.max_model_len.map_or(all, |len| len.min(all)));
    }
}

fn usage(object: &RawObject<'_>) -> Result<Usage> {
    #[derive(Default, Deserialize)]
    struct Counts {
        completion_tokens: Option<usize>,
        cached_tokens: Option<usize>,
    }

    let Counts { completion_tokens, cached_tokens } = object.get("meta_info")?.unwrap_or_default();
    Ok(Usage { completion_tokens, cached_tokens })
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::builder::PromptBuilder;
    use crate::conversation::Conversation;
    use crate::sink::{FormOptions, RequestOptions, Sink};

    #[test]
    fn a_prompt_is_shorter_than_the_context_by_what_the_server_says() {
        let mut served = Served { max_model_len: Some(2_048), ..Served::default() };
        assert_eq!(served.least_after_prompt(), 1);
        // As version 0.5.23 says it, which rejects prompts of 2,042 tokens.
        read_server_info(&json!({"max_req_input_len": 2_042}), &mut served);
        assert_eq!((served.max_model_len, served.least_after_prompt()), (Some(2_048), 7));
        read_server_info(&json!({"max_req_input_len": 1_000}), &mut served);
        assert_eq!((served.max_model_len, served.least_after_prompt()), (Some(1_006), 7));
    }

    #[test]
    fn streamed_requests_have_no_rid_that_another_could_share() {
        let builder = PromptBuilder::demo().expect("it is embedded");
        let prompt = builder.build(&Conversation::from([("user", "Hi!")])).expect("the demo has this role");
        for stream in [false, true] {
            let options = RequestOptions { stream, ..RequestOptions::default() };
            let mut line = Vec::new();
            let options = FormOptions { request: options, ..FormOptions::default() };
            let Sink::Lines(sink) = FORM.open(&builder, options).expect("it takes these options") else {
                panic!("a request is a line")
            };
            sink.write(&PromptKey::of(&to_raw_value(&3).expect("a number is JSON")), &(&prompt).into(), &mut line)
                .expect("it is a prompt to continue");
            let body: serde_json::Value = serde_json::from_slice(&line).expect("a request is JSON");
            assert_eq!(body.get("rid").is_none(), stream, "{body}");
        }
    }
}
