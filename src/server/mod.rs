//! Inference servers: the requests that each takes, and how its answers are read.
//!
//! ```
//! use metatok::server::read_answers;
//!
//! let line = r#"{"id": "cmpl-7", "object": "text_completion", "choices": [{"text": "Paris.", "token_ids": [773, 13, 1052],
//!     "finish_reason": "stop", "stop_reason": null}]}"#;
//! let answers = read_answers(line)?;
//! assert_eq!(answers[0].id.as_deref().map(|id| id.get()), Some("\"7\""));
//! assert_eq!(answers[0].token_ids.as_deref(), Some(&[773, 13, 1052][..]));
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! [`OUTPUT_FORMS`](crate::forms::OUTPUT_FORMS) lists the forms of requests, and [`ANSWER_FORMATS`] the formats of answers.

mod answer;
mod answer_format;
mod answer_formats;
mod completions;
pub(crate) mod dynamo;
mod engine_keys;
pub(crate) mod llama_cpp;
pub(crate) mod lmdeploy;
mod lm_eval;
mod messages;
mod nested_params;
mod object;
pub(crate) mod openai;
mod openai_batch;
mod own;
mod protocol;
mod protocols;
mod python_json;
mod raw_object;
mod request;
mod request_id;
mod request_output;
mod request_record;
mod request_sink;
mod responses;
mod said;
mod server_error;
pub(crate) mod sglang;
mod token_logprobs;
pub(crate) mod triton;
pub(crate) mod trtllm;
mod unfinished;
pub(crate) mod vllm;
pub(crate) mod vllm_generate;

pub use answer::{EngineAnswer, StopReason};
pub(crate) use answer::{calls_tools, gave_up, is_error};
pub use answer_format::AnswerFormat;
pub use answer_formats::{ANSWER_FORMATS, read_answers};
pub(crate) use lm_eval::SeenSamples;
#[cfg(feature = "http")]
pub(crate) use protocol::{Extent, MODELS, StreamEvent, Usage};
pub use protocol::{Protocol, Served};
pub use protocols::PROTOCOLS;
pub(crate) use python_json::{LEAST, finite, without_infinities};
pub(crate) use request_id::{json_string, split_label, split_request_id, without_run_id};
pub(crate) use request_record::RequestRecord;
pub use token_logprobs::TokenLogprobs;

pub use crate::sink::RequestOptions;
