//! The samples that EleutherAI's lm-evaluation-harness logs: `doc_id`, and texts in `resps`.
//!
//! It logs all samples of a task again for each of the task's filters, with the same texts: `evaluate` in `evaluator.py`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

use crate::error::Result;
use crate::input::from_json;
use crate::server::raw_object::RawObject;
use crate::server::{AnswerFormat, EngineAnswer, without_infinities};

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "lm-evaluation-harness", keys: &["resps"], read };

fn read<'a>(object: &RawObject<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let requests: Vec<Vec<String>> = object.get("resps")?.unwrap_or_default();
    let answer = object.answer()?;
    let id = object.raw("doc_id").map(Cow::Borrowed);
    let texts: Vec<String> = requests.into_iter().flatten().collect();
    answer.check_shared_by(texts.len(), 0)?;
    let is_only = texts.len() == 1;
    let answers = texts.into_iter().enumerate().map(|(i, text)| EngineAnswer {
        id: id.clone().or_else(|| answer.id.clone()),
        choice: (!is_only).then_some(i).or(answer.choice),
        text: Some(text),
        ..answer.clone()
    });
    Ok(answers.collect())
}

/// What is the same in a sample for all filters.
const SAMPLE: [&str; 7] = ["doc_id", "doc", "doc_hash", "prompt_hash", "target", "arguments", "resps"];

/// The samples of a task so far, to find those that are logged again.
#[derive(Debug, Default)]
pub(crate) struct SeenSamples {
    input: String,
    /// The first filter of each, by their hashes.
    filters: HashMap<u64, u64>,
    is_repeating: bool,
}

impl SeenSamples {
    /// Whether a line of this input is a sample that was there before, for another filter.
    pub(crate) fn has(&mut self, input: &str, json: &str) -> bool {
        let may_be_one = json.contains("\"filter\"") && json.contains("\"resps\"");
        let Some((sample, filter)) = may_be_one.then(|| hashes(json)).flatten() else { return false };
        let is_known = *self.input == *input && self.filters.contains_key(&sample);
        // A task logs all of its samples for one filter after the other, so that this one is the next task's.
        if *self.input != *input || self.is_repeating && !is_known {
            *self = Self { input: input.to_owned(), ..Self::default() };
        }
        let is_repeated = *self.filters.entry(sample).or_insert(filter) != filter;
        self.is_repeating |= is_repeated;
        is_repeated
    }
}

/// The hashes of a sample and of its filter.
fn hashes(json: &str) -> Option<(u64, u64)> {
    let sample = without_infinities(json, |json| {
        let object: RawObject<'_> = from_json(json)?;
        let filter = object.raw("filter").filter(|_| object.has("resps"));
        Ok(filter.map(|filter| (hash(SAMPLE.map(|key| object.raw(key).map(RawValue::get))), hash(filter.get()))))
    });
    sample.ok().flatten()
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
