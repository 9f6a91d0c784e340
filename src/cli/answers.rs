//! A model's answers from a file, for dialogues in which they stand in the turns behind.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::ids::without_escapes;
use crate::cli::setup;
use crate::dataset::RowKey;
use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::TokenId;
use crate::turns::Turns;

/// The answers by row and turn. All are kept in memory.
pub(crate) struct Answers {
    by_turn: HashMap<(Asker, usize), Answer>,
    /// Whether the model's thoughts are taken out.
    pub(crate) strip_thoughts: bool,
}

/// Which row it answers: the row's id as JSON, and its repeat.
pub(crate) type Asker = (String, Option<usize>);

/// What a model said.
#[derive(Deserialize)]
pub(crate) struct Answer {
    id: Box<RawValue>,
    repeat: Option<usize>,
    pub(crate) turn: Option<usize>,
    pub(crate) token_ids: Option<Vec<TokenId>>,
    pub(crate) text: Option<String>,
    /// There is none, for this reason.
    pub(crate) error: Option<serde::de::IgnoredAny>,
}

impl Answer {
    /// Answers the turn that was asked for.
    pub(crate) fn give(&self, turns: &mut Turns) -> Result<()> {
        let turn = turns.plan().turn().unwrap_or_default();
        match (&self.token_ids, &self.text) {
            (Some(ids), _) => return turns.answer_ids(ids).at(format_args!("the answer to turn {turn}")),
            (None, Some(text)) => turns.answer_text(text),
            (None, None) => turns.fail(),
        }
        Ok(())
    }
}

/// Reads JSON lines of `id`, as the prompts have it, with `token_ids`, `text` or `error`. Each comes with its line.
pub(crate) fn each_answer(
    path: &Path,
    longest: usize,
    mut visit: impl FnMut(Asker, Answer, &str) -> Result<()>,
) -> Result<()> {
    setup::each_line(setup::file(path)?, longest, |place, line| {
        let line = line.at(place)?;
        let answer: Answer = setup::from_json(line).at(place)?;
        if answer.token_ids.is_none() && answer.text.is_none() && answer.error.is_none() {
            let what = "an answer has \"token_ids\", \"text\", or \"error\"";
            return Err(ErrorKind::Parse(what.into())).at(place);
        }
        let asker = (without_escapes(answer.id.get()).into_owned(), answer.repeat);
        visit(asker, answer, line).at(place)?;
        Ok(ControlFlow::Continue(()))
    })
}

impl Answers {
    /// Reads the answers to turns.
    pub(crate) fn read(path: &Path, strip_thoughts: bool, longest: usize) -> Result<Self> {
        let mut by_turn = HashMap::new();
        each_answer(path, longest, |asker, answer, _| {
            let no_turn = || ErrorKind::Parse("an answer to a turn has its number, \"turn\"".into());
            let turn = answer.turn.ok_or_else(no_turn)?;
            let id = asker.0.clone();
            match by_turn.insert((asker, turn), answer) {
                Some(_) => Err(twice(&format!("turn {turn} of id {id}"))),
                None => Ok(()),
            }
        })?;
        Ok(Self { by_turn, strip_thoughts })
    }

    pub(crate) fn get(&self, row: &RowKey, turn: usize) -> Option<&Answer> {
        self.by_turn.get(&((row.id.clone(), row.repeat), turn))
    }
}

/// The error for an answer that stands there already.
pub(crate) fn twice(to: &str) -> crate::Error {
    ErrorKind::Parse(format!("the answer to {to} is here twice")).into()
}
