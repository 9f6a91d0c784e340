//! An answer to compare: trimmed, with the prompt that it answers.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answers::{asker, string_id};
use crate::error::Result;
use crate::server::{calls_tools, read_answers, without_run_id};
use crate::stop::Stop;
use crate::tokenizer::TokenId;
use crate::trim::{AnswerTrimmer, Reported, TrimmedAnswer};
use crate::turns::without_thoughts;

/// The key of a message's thoughts.
const THOUGHTS: &str = "reasoning_content";

/// Identifies an answer: its prompt, and which of several answers to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AnswerKey {
    /// As a JSON string, because servers make strings of numbers.
    string_id: String,
    pub(super) repeat: Option<usize>,
    pub(super) turn: Option<usize>,
    pub(super) choice: Option<usize>,
}

impl AnswerKey {
    /// The key of an answer with this id, as JSON.
    pub(crate) fn new(id: &str, repeat: Option<usize>, turn: Option<usize>, choice: Option<usize>) -> Self {
        Self { string_id: string_id(id).into_owned(), repeat, turn, choice }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// As written in its file.
    pub(super) id: Box<RawValue>,
    pub(super) token_ids: Option<Vec<TokenId>>,
    pub(super) text: String,
    /// Whether it is a chat's message.
    is_chat: bool,
    /// What that says, if the answer has ids: its content, thoughts and calls. Otherwise the text is that.
    said: Option<String>,
    /// What it says after its thoughts, if a server has taken these out of a text without ids.
    after_thoughts: Option<String>,
    pub(super) end: End,
}

/// Why an answer ends.
#[derive(Debug, Clone, Default)]
pub(super) struct End {
    /// None if there is no stop and the engine reported nothing.
    pub(super) finish_reason: Option<String>,
    pub(super) stop: Option<Stop>,
    /// The error that the engine reported in place of an answer, as JSON.
    pub(super) error: Option<Box<RawValue>>,
}

/// Reads the answers of a line, and trims them. Any of the run ids is removed from the front of ids.
pub(super) fn read(trimmer: &AnswerTrimmer, run_ids: &[String], line: &str) -> Result<Vec<(AnswerKey, Answer)>> {
    let without_run_id = |id: &RawValue| run_ids.iter().find_map(|run_id| without_run_id(id, Some(run_id)));
    let answers = read_answers(line)?.into_iter().map(|mut answer| {
        answer.id = answer.id.map(|id| without_run_id(&id).map_or(id, Cow::Owned));
        let ((id, repeat), turn) = asker(&answer)?;
        let key = AnswerKey::new(&id, repeat, turn, answer.choice);
        let id = RawValue::from_string(id).expect("it was read as JSON");
        let content = answer.is_chat.then(|| answer.text.clone().unwrap_or_default());
        Ok((key, Answer::new(id, trimmer.trim_answer(answer)?, content)))
    });
    answers.collect()
}

impl Answer {
    fn new(id: Box<RawValue>, trimmed: TrimmedAnswer<'_>, content: Option<String>) -> Self {
        let is_reported = trimmed.engine.as_ref().is_some_and(Reported::is_anything);
        let is_known = trimmed.stop.is_some() || is_reported || trimmed.error.is_some();
        let end = End {
            finish_reason: is_known.then(|| trimmed.finish_reason.into_owned()),
            stop: trimmed.stop,
            error: trimmed.error.map(ToOwned::to_owned),
        };
        let mut beside = trimmed.message.as_ref().map(|message| said_beside(message)).unwrap_or_default();
        let beside_text = beside_as_text(&beside);
        let is_chat = content.is_some();
        let mut after_thoughts = None;
        // The ids are all that it says.
        let (text, said) = match trimmed.token_ids {
            Some(_) => (trimmed.text, content.map(|content| content + &beside_text)),
            None => {
                let has_thoughts = beside.shift_remove(THOUGHTS).is_some();
                after_thoughts = has_thoughts.then(|| trimmed.text.trim_start().to_owned() + &beside_as_text(&beside));
                (trimmed.text + &beside_text, None)
            }
        };
        Self { id, token_ids: trimmed.token_ids, text, is_chat, said, after_thoughts, end }
    }

    /// The answer as a chat's message says it.
    pub(super) fn as_said(&self) -> Option<Cow<'_, Self>> {
        match (&self.token_ids, &self.said) {
            (None, _) => self.is_chat.then_some(Cow::Borrowed(self)),
            (Some(_), said) => said.clone().map(|text| {
                let Self { id, end, is_chat, .. } = self;
                let (id, end) = (id.clone(), end.clone());
                let (said, after_thoughts) = (None, None);
                Cow::Owned(Self { id, token_ids: None, text, is_chat: *is_chat, said, after_thoughts, end })
            }),
        }
    }

    /// This answer and the other one without their thoughts, if a server has taken them out of this one, and the other's
    /// text has them.
    pub(super) fn after_thoughts(&self, other: &Self) -> Option<[Self; 2]> {
        let text = without_thoughts(&other.text);
        let after_thoughts = self.after_thoughts.clone().filter(|_| text != other.text)?;
        let other = Self { text: text.trim_start().to_owned(), ..other.clone() };
        Some([Self { text: after_thoughts, ..self.clone() }, other])
    }

    /// The answer with another text.
    pub(super) fn with_text(&self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self.clone() }
    }
}

/// What a message says besides its content, as it is compared: without the ids that servers make up for calls of tools, and
/// with the arguments of calls as JSON, because servers space it in their own ways.
fn said_beside(message: &RawValue) -> Map<String, Value> {
    let mut said: Map<String, Value> = serde_json::from_str(message.get()).unwrap_or_default();
    for call in said.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(call) = call.as_object_mut() {
            call.retain(|key, _| !matches!(key.as_str(), "id" | "index"));
            call.get_mut("function").into_iter().for_each(parse_arguments);
        }
    }
    said.get_mut("function_call").into_iter().for_each(parse_arguments);
    // vLLM calls thoughts by this name, others by the longer one.
    if let Some(thoughts) = said.remove("reasoning") {
        said.entry(THOUGHTS).or_insert(thoughts);
    }
    said.values_mut().for_each(Value::sort_all_objects);
    said.sort_keys();
    said
}

/// Arguments that are not JSON stay a text.
fn parse_arguments(function: &mut Value) {
    let Some(arguments) = function.get_mut("arguments") else { return };
    if let Some(parsed) = arguments.as_str().and_then(|text| serde_json::from_str(text).ok()) {
        *arguments = parsed;
    }
}

fn beside_as_text(beside: &Map<String, Value>) -> String {
    if beside.is_empty() { String::new() } else { serde_json::to_string(beside).expect("its keys are strings") }
}

impl End {
    /// Whether both have a reason, and the reasons differ. A call of a tool is a stop: only some servers recognise it.
    pub(super) fn differs(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }

        let reasons = [self, other].map(|end| end.finish_reason.as_deref());
        let [a, b] = reasons.map(|reason| reason.map(|reason| if calls_tools(reason) { "stop" } else { reason }));
        differ(a, b) || differ(self.stop_id(), other.stop_id())
    }

    /// The stop id at which it ends.
    pub(super) fn stop_id(&self) -> Option<TokenId> {
        match self.stop {
            Some(Stop::Token { token_id, .. }) => Some(token_id),
            Some(Stop::String { .. }) | None => None,
        }
    }
}

impl fmt::Display for AnswerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id {}", self.string_id)?;
        for (name, number) in [("repeat", self.repeat), ("turn", self.turn), ("choice", self.choice)] {
            if let Some(number) = number {
                write!(f, ", {name} {number}")?;
            }
        }
        Ok(())
    }
}
