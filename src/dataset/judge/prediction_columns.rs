//! The columns that a judge's prompts need in addition to the row's own: models' answers and the reference.

use std::sync::Arc;

use crate::conversation::ChatMessage;
use crate::dataset::config::Dataset;
use crate::dataset::judge::{chinese_characters, english_words};
use crate::dataset::prompter::RowPrompter;
use crate::dataset::rows::{Row, Value};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Result, Warning};

/// The column in which a judge sees the answer, or the first of several answers.
const PREDICTION: &str = "prediction";
/// The columns of the reference. The second is the judge's output column, so most of its templates mask it.
const OBJ_GOLD: &str = "obj_gold";
pub(crate) const REFERENCE: &str = "reference";

/// A dataset's judge, see [`Dataset::judge`].
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    /// A dataset with the rows of the judged one, and the judge's prompts.
    pub dataset: Dataset,
    /// The columns that a row needs for this in addition to its own.
    pub columns: PredictionColumns,
    /// What the user should know: what OpenCompass does before and after these prompts.
    pub notes: Vec<Warning>,
}

/// A model's answer to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prediction {
    /// One answer.
    Text(String),
    /// An answer to each turn of a dialogue, if [`PredictionColumns::turns`] says that the judge sees each. After the
    /// end of a dialogue that is shorter than others there is none.
    Turns(Vec<Option<String>>),
}

/// Adds to rows the columns that hold models' answers and references.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictionColumns {
    pub(crate) evaluator: Evaluator,
    /// The column of the reference.
    pub(crate) output_column: Option<String>,
    /// What asks the models, if it asks turn by turn.
    pub(crate) dialogues: Option<Arc<Dataset>>,
    /// Whether the judge sees each turn that is asked, and not a single answer.
    pub(crate) sees_turns: bool,
    /// Whether the turns of a dialogue are in one column.
    pub(crate) packs_turns: bool,
}

/// OpenCompass's evaluators that ask a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evaluator {
    GenericLlm,
    /// It asks a `GenericLLMEvaluator` about the answers that a rule rejects.
    Cascade,
    Lm,
}

impl PredictionColumns {
    /// How many answers of one model the judge sees side by side in a row: the turns that the dialogue generates. None
    /// if it sees a single answer, which is the one to the row or to the last turn.
    ///
    /// # Errors
    /// The same as for [`RowPrompter::plan`].
    pub fn turns(&self, row: &Row) -> Result<Option<usize>> {
        Ok(if self.sees_turns { Some(self.asked_turns(row)?.len()) } else { None })
    }

    /// The numbers of the turns that the models are asked for; none if they are not asked turn by turn.
    ///
    /// # Errors
    /// The same as for [`RowPrompter::plan`].
    pub(crate) fn asked_turns(&self, row: &Row) -> Result<Vec<usize>> {
        let Some(dataset) = &self.dialogues else { return Ok(Vec::new()) };
        let plan = RowPrompter::new(Arc::clone(dataset), [])?.plan(row, Vec::new(), |_| Ok(0))?;
        Ok(plan.turn().into_iter().chain(plan.later_turns()).collect())
    }

    /// Rejects more models than the judge compares.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] with their number.
    pub fn check_models(&self, models: usize) -> Result<()> {
        if models > 1 && self.evaluator != Evaluator::Lm {
            let what = format!(
                "the judge sees the answers of one model, but there are answers of {models}; use LMEvaluator for judges that compare models"
            );
            return Err(dataset_error(&what));
        }
        Ok(())
    }

    /// Adds the models' answers to the row, in their order, and its reference: `prediction`, `prediction2`, …, or turn
    /// by turn `prediction_r1`, `prediction_r2`, …, `prediction1_r1`, …; `obj_gold` and `reference`; with `LMEvaluator`
    /// also `prediction_en_word_count` and `prediction_cn_word_count`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if the row already has such a column, or if turns cannot be packed in the way the
    /// dataset requires.
    pub fn add(&self, row: &mut Row, predictions: &[Prediction]) -> Result<()> {
        self.check_models(predictions.len())?;
        let reference = self.output_column.as_deref().and_then(|column| row.get(column)).cloned();
        let mut columns = Vec::new();
        for (model, prediction) in predictions.iter().enumerate() {
            match prediction {
                Prediction::Text(text) => self.add_text(model, text, reference.as_ref(), &mut columns),
                Prediction::Turns(turns) if self.packs_turns => {
                    columns.push((name(model), self.packed(row, turns).at("pack_all_predictions")?));
                }
                Prediction::Turns(turns) => columns.extend(turn_columns(model, turns)),
            }
        }
        columns.extend(reference.map(|reference| (REFERENCE.to_owned(), reference)));
        for (column, value) in columns {
            if row.get(&column).is_some() && self.output_column.as_ref() != Some(&column) {
                let what = format!(
                    "the row already has a column {column:?}, which the judge's prompt needs for itself; rename it"
                );
                return Err(row_error(&what));
            }
            row.set(&column, value);
        }
        Ok(())
    }

    fn add_text(&self, model: usize, text: &str, reference: Option<&Value>, columns: &mut Vec<(String, Value)>) {
        let name = name(model);
        columns.push((name.clone(), text.into()));
        if model == 0 && self.evaluator != Evaluator::Cascade {
            columns.extend(reference.map(|reference| (OBJ_GOLD.to_owned(), reference.clone())));
        }
        if self.evaluator == Evaluator::Lm {
            for (language, count) in [("en", english_words(text)), ("cn", chinese_characters(text))] {
                columns.push((format!("{name}_{language}_word_count"), Value::Int(count.to_string())));
            }
        }
    }

    /// A dialogue with its answers, in the form of OpenCompass's `ChatInferencer`.
    fn packed(&self, row: &Row, turns: &[Option<String>]) -> Result<Value> {
        let answers: Vec<&str> = turns.iter().flatten().map(String::as_str).collect();
        let chat = self.dialogues.as_ref().map(|dataset| dataset.task.chat(row)).transpose()?.unwrap_or_default();
        if chat.len() != 2 * answers.len() {
            let what = format!(
                "the user and the model must take turns, but this dialogue has {} messages and {} answers",
                chat.len(),
                answers.len()
            );
            return Err(row_error(&what));
        }
        let round = |(i, (exchange, answer)): (usize, (&[ChatMessage], &str))| {
            let user = exchange[0].content.texts().collect::<String>();
            Value::Dict(vec![
                ("round".into(), Value::Int((i + 1).to_string())),
                ("user".into(), Value::Text(user)),
                ("assistant".into(), answer.into()),
            ])
        };
        Ok(Value::List(chat.chunks_exact(2).zip(answers).enumerate().map(round).collect()))
    }
}

/// The column of a model's answer.
fn name(model: usize) -> String {
    if model == 0 { PREDICTION.to_owned() } else { format!("{PREDICTION}{}", model + 1) }
}

/// The columns of a model's answers to turns. OpenCompass counts models from 0 here, and only here.
fn turn_columns(model: usize, turns: &[Option<String>]) -> impl Iterator<Item = (String, Value)> {
    let number = if model == 0 { String::new() } else { model.to_string() };
    turns.iter().enumerate().map(move |(turn, answer)| {
        let answer = answer.as_deref().map_or(Value::Null, Value::from);
        (format!("{PREDICTION}{number}_r{}", turn + 1), answer)
    })
}
