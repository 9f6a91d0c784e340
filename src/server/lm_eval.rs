//! The samples that EleutherAI's lm-evaluation-harness logs: `doc_id`, and texts in `resps`.

use std::borrow::Cow;

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
    let answers = texts.into_iter().enumerate().map(|(i, text)| EngineAnswer {
        id: id.clone().or_else(|| answer.id.clone()),
        choice: (!is_only).then_some(i).or(answer.choice),
        text: Some(text),
        ..answer.clone()
    });
    Ok(answers.collect())
}
