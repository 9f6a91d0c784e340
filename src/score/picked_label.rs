//! The label that a row's scores pick, as a line of JSON.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::dataset::Row;
use crate::error::{At, ErrorKind, Result};
use crate::score::labeled_row::{Label, LabeledRow};
use crate::score::{Score, ScoreRule, ScoredAnswer, Scorer};

/// The scores of a row's labels.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PickedLabel<'t> {
    /// The row's id, as JSON.
    pub id: &'t RawValue,
    /// Which of the row's repeats it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// The columns of the row that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<&'t Row>,
    /// The labels in their order.
    pub scores: Vec<LabelScore<'t>>,
    #[serde(skip)]
    best: Option<usize>,
}

/// The score of a label, by the [`ScoreRule`] of its row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LabelScore<'t> {
    /// The label.
    pub label: &'t str,
    /// Its score; none if the engine failed at its text, or did not get it. A text that is impossible has -1e300, or a loss of
    /// 1e300, because JSON has no infinity.
    pub score: Option<f64>,
}

impl<'t> PickedLabel<'t> {
    pub(super) fn new(row: &'t LabeledRow, rule: ScoreRule, scores: impl Iterator<Item = Option<f64>>) -> Self {
        let scores: Vec<Option<f64>> = scores.collect();
        let all: Option<Vec<f64>> = scores.iter().copied().collect();
        let score = |(label, score): (&'t Label, Option<f64>)| LabelScore { label: &label.name, score };
        Self {
            id: &row.id,
            repeat: row.repeat,
            columns: row.columns.as_ref(),
            best: all.and_then(|scores| rule.best(&scores)),
            scores: row.labels.iter().zip(scores).map(score).collect(),
        }
    }

    /// The label with the best score, of equal ones the first; none if a score is missing.
    pub fn label(&self) -> Option<&'t str> {
        self.best.map(|best| self.scores[best].label)
    }

    /// The label as an answer, to be compared with its references.
    pub fn answer(&self) -> ScoredAnswer {
        ScoredAnswer::of_label(self.label(), self.columns)
    }

    /// The score of the label, with the references in this column; none if there is no label.
    ///
    /// # Errors
    /// The same as for [`Self::check`] and [`Scorer::score_answer`].
    pub fn score(&self, scorer: &Scorer, column: &str) -> Result<Option<Score>> {
        let answer = self.answer();
        if answer.text().is_some() {
            self.check(scorer, &answer.references(column)?).at(column).at("columns")?;
        }
        scorer.score_answer(&answer, column)
    }

    /// Rejects references that are not among the labels: no answer could be right.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the references and the labels.
    pub fn check(&self, scorer: &Scorer, references: &[impl AsRef<str>]) -> Result<()> {
        let is_right = |score: &LabelScore<'_>| scorer.score(score.label, references).is_correct;
        if self.scores.iter().any(is_right) {
            return Ok(());
        }
        let labels: Vec<&str> = self.scores.iter().map(|score| score.label).collect();
        let references: Vec<&str> = references.iter().map(AsRef::as_ref).collect();
        let what = format!("{references:?}: it is not one of the labels {}", labels.join(", "));
        Err(ErrorKind::Invalid(what).with_way_out("use another column, or compare in another way"))
    }
}
