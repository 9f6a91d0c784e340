//! A model's answers from a file, for dialogues in which they stand in the turns behind.

use std::collections::HashMap;
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
    by_turn: HashMap<Place, Answer>,
    /// Whether the model's thoughts are taken out.
    pub(crate) strip_thoughts: bool,
}

/// Which answer it is: the row's id as JSON, its repeat, and the turn.
type Place = (String, Option<usize>, usize);

/// What a model said in a turn.
#[derive(Deserialize)]
pub(crate) struct Answer {
    id: Box<RawValue>,
    repeat: Option<usize>,
    turn: usize,
    pub(crate) token_ids: Option<Vec<TokenId>>,
    pub(crate) text: Option<String>,
    /// There is none, for this reason.
    pub(crate) error: Option<serde::de::IgnoredAny>,
}

impl Answer {
    /// Answers the turn that was asked for.
    pub(crate) fn give(&self, turns: &mut Turns) -> Result<()> {
        match (&self.token_ids, &self.text) {
            (Some(ids), _) => return turns.answer_ids(ids).at(format_args!("the answer to turn {}", self.turn)),
            (None, Some(text)) => turns.answer_text(text),
            (None, None) => turns.fail(),
        }
        Ok(())
    }
}

impl Answers {
    /// Reads JSON lines of `id` and `turn`, as the prompts have them, with `token_ids`, `text` or `error`.
    pub(crate) fn read(path: &Path, strip_thoughts: bool, longest: usize) -> Result<Self> {
        let mut by_turn = HashMap::new();
        setup::each_line(setup::file(path)?, longest, |place, line| {
            let answer: Answer = setup::from_json(line?).at(place)?;
            if answer.token_ids.is_none() && answer.text.is_none() && answer.error.is_none() {
                let what = "an answer has \"token_ids\", \"text\", or \"error\"";
                return Err(ErrorKind::Parse(what.into())).at(place);
            }
            let (id, turn) = (without_escapes(answer.id.get()).into_owned(), answer.turn);
            if by_turn.insert((id.clone(), answer.repeat, turn), answer).is_some() {
                let what = format!("the answer to turn {turn} of id {id} is here twice");
                return Err(ErrorKind::Parse(what)).at(place);
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(Self { by_turn, strip_thoughts })
    }

    pub(crate) fn get(&self, row: &RowKey, turn: usize) -> Option<&Answer> {
        self.by_turn.get(&(row.id.clone(), row.repeat, turn))
    }
}
