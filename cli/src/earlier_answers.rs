//! The model's answers to earlier turns of dialogues, from `--answers`.

use crate::args::{AnswersArgs, InputArgs};
use crate::flags;
use metatok::answers::ModelAnswers;
use metatok::error::{ErrorKind, Result};
use metatok::input::Input;
use metatok::prepared::PreparedDataset;

/// The given answers, if the turns of rows need any.
pub(crate) fn read(
    answers: &AnswersArgs,
    input: &InputArgs,
    dataset: Option<&PreparedDataset>,
) -> Result<Option<ModelAnswers>> {
    let Some(path) = &answers.answers else { return Ok(None) };
    if !dataset.is_some_and(PreparedDataset::needs_model_answers) {
        return Err(ErrorKind::Usage(format!("--answers {}", flags::ANSWERS)).into());
    }
    let InputArgs { run_id, strip_thoughts, read, .. } = input;
    ModelAnswers::read(Input::open(path)?, run_id.run_id.as_deref(), *strip_thoughts, read.max_line_bytes).map(Some)
}
