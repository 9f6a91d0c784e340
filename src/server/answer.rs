//! An answer from an engine, whatever its format.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{ErrorKind, Result, counted};
use crate::server::TokenLogprobs;
use crate::stop::{Stop, StopSource, without_echo};
use crate::tokenizer::TokenId;

/// An answer from an engine. It has token ids, text, both, or an error.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EngineAnswer<'a> {
    /// The id of its prompt, as JSON, without the prefix that the server added.
    pub id: Option<Cow<'a, RawValue>>,
    /// Which of the repeats of its row.
    pub repeat: Option<usize>,
    /// Which turn of its row.
    pub turn: Option<usize>,
    /// Which of several answers to one request it is.
    pub choice: Option<usize>,
    /// The columns of its row, as a JSON object.
    pub columns: Option<&'a RawValue>,
    /// What its prompt lost to be short enough, in a line that `run` wrote, as JSON.
    pub truncated: Option<&'a RawValue>,
    /// The ids of the prompt, if [`Self::token_ids`] may begin with them, as in the output of transformers' `generate()`.
    pub input_ids: Option<Vec<TokenId>>,
    /// The log-probabilities of the prompt's last tokens, in order.
    pub prompt_logprobs: Option<Vec<TokenLogprobs>>,
    /// The generated ids.
    pub token_ids: Option<Vec<TokenId>>,
    /// The generated text.
    pub text: Option<String>,
    /// Whether the text is the content of a chat's message. Servers take thoughts and calls of tools out of it.
    pub is_chat: bool,
    /// What the message of a chat says besides its content, as a JSON object: calls of tools, thoughts, a refusal. It may be
    /// all of the answer.
    pub message: Option<Cow<'a, RawValue>>,
    /// Why the answer ended, in the engine's words: `stop`, `length`, `abort`, or another.
    pub finish_reason: Option<String>,
    /// The stop that ended the answer, if the engine names one.
    pub stop_reason: Option<StopReason>,
    /// Whether the ids and the text end with the stop only if the request asked for it, as LMDeploy's.
    pub stop_is_optional: bool,
    /// The stop that was found when the answer was trimmed before.
    pub stop: Option<Stop>,
    /// The ids from that stop on, which [`Self::token_ids`] do not have.
    pub tail: Vec<TokenId>,
    /// The error that the engine reported in place of an answer, as JSON.
    pub error: Option<&'a RawValue>,
}

impl EngineAnswer<'_> {
    /// The generated ids, without the prompt's ids if the engine returns those too. Some servers send an empty list beside
    /// a text, for ids that they do not have.
    pub fn generated_ids(&self) -> Option<&[TokenId]> {
        let prompt = self.input_ids.as_deref().unwrap_or_default();
        let has_text = self.text.as_ref().is_some_and(|text| !text.is_empty());
        let ids = self.token_ids.as_deref().filter(|ids| !ids.is_empty() || !self.tail.is_empty() || !has_text);
        ids.map(|ids| without_echo(prompt, ids))
    }

    /// Rejects a line in which this many answers share so much of their prompt, its ids and this many log-probabilities, that
    /// copies of it would fill the memory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with both numbers.
    pub(super) fn check_shared_by(&self, answers: usize, logprobs: usize) -> Result<()> {
        const MOST: usize = 1 << 26;
        let tokens = self.input_ids.as_ref().map_or(0, Vec::len) + logprobs;
        if answers.saturating_mul(tokens) <= MOST {
            return Ok(());
        }
        let what = format!("it has {} to a prompt of {}", counted(answers, "answer"), counted(tokens, "token"));
        Err(ErrorKind::Invalid(what).with_way_out("write fewer answers into a line"))
    }

    /// The stop at which the answer ends: the one that was found before, or that the engine names.
    pub(crate) fn own_stop(&self) -> Option<Stop> {
        self.stop.clone().or_else(|| self.stop_reason.clone().map(Stop::from))
    }
}

/// Why an answer ended, and the stop that ended it, from two keys. Without a finish reason, a stop reason that is a usual word
/// for one is not a stop string. Source: `ModelOutput` of Inspect and of EvalScope.
pub(super) fn end_of(
    finish_reason: Option<String>,
    stop_reason: Option<StopReason>,
) -> (Option<String>, Option<StopReason>) {
    match (finish_reason.filter(|reason| !reason.is_empty()), stop_reason) {
        (None, Some(StopReason::String(word))) => match of_openai(&word) {
            Some(reason) => (Some(reason.to_owned()), None),
            None => (None, Some(StopReason::String(word))),
        },
        both => both,
    }
}

/// A word for why an answer ended, in the words of OpenAI's API; none for a word that is not known.
pub(super) fn of_openai(word: &str) -> Option<&'static str> {
    Some(match word {
        "stop" | "end_turn" | "stop_sequence" | "eos" => "stop",
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => "length",
        "tool_calls" | "tool_use" => TOOL_CALLS,
        "content_filter" => "content_filter",
        "unknown" => "unknown",
        _ => return None,
    })
}

/// Whether the value of a key `error` is an error. One that says nothing is none beside an answer: a table has no null.
pub(crate) fn is_error(value: &str, has_answer: bool, finish_reason: Option<&str>) -> bool {
    let bare: String = value.chars().filter(|c| !c.is_ascii_whitespace()).take(6).collect();
    let says_nothing = matches!(&*bare, "null" | "\"\"" | "false" | "{}" | "[]");
    !says_nothing || !has_answer || finish_reason.is_some_and(gave_up)
}

/// Whether an engine says with this word that it gave up on the answer.
pub(crate) fn gave_up(finish_reason: &str) -> bool {
    matches!(finish_reason, "abort" | "error")
}

/// Why an answer ended, in the words of OpenAI's API, that calls tools.
pub(super) const TOOL_CALLS: &str = "tool_calls";

/// Whether an engine says with this word that the answer calls tools. The model has then ended its turn.
pub(crate) fn calls_tools(finish_reason: &str) -> bool {
    matches!(finish_reason, TOOL_CALLS | "function_call")
}

/// The stop that an engine names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a token id or a string")]
#[non_exhaustive]
pub enum StopReason {
    /// A stop id.
    Token(TokenId),
    /// A stop string.
    String(String),
}

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Token(token_id) => Self::Token { token_id, token: None, sources: vec![StopSource::Engine] },
            StopReason::String(string) => Self::String { string },
        }
    }
}
