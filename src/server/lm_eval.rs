//! The samples that EleutherAI's lm-evaluation-harness logs: `doc_id`, and texts in `resps`.
//!
//! It logs all samples of a task again for each of the task's filters, with the same texts: `evaluate` in `evaluator.py`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::server::keys::Keys;
use crate::server::{AnswerFormat, EngineAnswer};

pub(super) const ANSWERS: AnswerFormat = AnswerFormat { name: "lm-evaluation-harness", keys: &["resps"], read };

fn read<'a>(keys: &Keys<'a>) -> Result<Vec<EngineAnswer<'a>>> {
    let requests: Vec<Vec<String>> = keys.get("resps")?.unwrap_or_default();
    let answer = keys.answer()?;
    let id = keys.raw("doc_id").map(Cow::Borrowed);
    let texts: Vec<String> = requests.into_iter().flatten().collect();
    let is_only = texts.len() == 1;
    let filter: Option<String> = keys.get_own("filter");
    let answers = texts.into_iter().enumerate().map(|(i, text)| EngineAnswer {
        id: id.clone().or_else(|| answer.id.clone()),
        choice: (!is_only).then_some(i).or(answer.choice),
        text: Some(text),
        filter: filter.clone(),
        ..answer.clone()
    });
    Ok(answers.collect())
}

/// The filter of each file whose samples are kept: the first one that is seen.
#[derive(Debug, Default)]
pub(crate) struct KeptFilters(Mutex<HashMap<String, String>>);

impl KeptFilters {
    /// Whether an answer in this file is not the repetition of another.
    pub(crate) fn keep(&self, file: &str, answer: &EngineAnswer<'_>) -> bool {
        let Some(filter) = &answer.filter else { return true };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(file.to_owned()).or_insert_with(|| filter.clone()) == filter
    }
}
