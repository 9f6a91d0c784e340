//! A row with a text to score for each of its labels.

use serde_json::value::RawValue;

use crate::dataset::Row;
use crate::error::{ErrorKind, Result, Setting, way_out};
use crate::score::text_to_score::{TextLine, TextToScore};
use crate::score::{NormalizeBy, ScoreRule};

/// A row with its labels in their order.
#[derive(Debug)]
pub(super) struct LabeledRow {
    pub(super) id: Box<RawValue>,
    pub(super) repeat: Option<usize>,
    pub(super) columns: Option<Row>,
    pub(super) labels: Vec<Label>,
}

/// A label with its text, and the one that normalizes its score.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) name: String,
    text: TextToScore,
    normalizing: Option<TextToScore>,
}

impl LabeledRow {
    /// The row of a text, still without texts.
    pub(super) fn of(line: &TextLine<'_>) -> Self {
        Self { id: line.id.to_owned(), repeat: line.repeat, columns: line.columns.clone(), labels: Vec::new() }
    }

    /// Adds a text. A normalizing one comes after its label's own.
    pub(super) fn push(&mut self, line: TextLine<'_>) -> Result<()> {
        let (name, is_normalizing) = (line.label_text()?, line.is_normalizing);
        let text = line.into_text()?;
        match self.labels.last_mut() {
            Some(label) if is_normalizing && label.name == name => label.normalizing = Some(text),
            _ if is_normalizing => {
                let what = format!("there is no text of the label {name:?} before its normalizing one");
                return Err(ErrorKind::Invalid(what).into());
            }
            _ => self.labels.push(Label { name, text, normalizing: None }),
        }
        Ok(())
    }

    pub(super) fn text(&self, label: usize, is_normalizing: bool) -> Option<&TextToScore> {
        let label = self.labels.get(label)?;
        if is_normalizing { label.normalizing.as_ref() } else { Some(&label.text) }
    }

    /// How its labels are compared: what is scored of their texts shows which inferencer made them. Likelihoods are
    /// divided by lengths if they are to be normalized.
    pub(super) fn rule(&self, normalize_by: Option<NormalizeBy>) -> ScoreRule {
        if self.labels.iter().any(|label| label.normalizing.is_some()) {
            ScoreRule::NormalizedLoss
        } else if self.labels.iter().any(|label| label.text.has_context()) {
            normalize_by.map_or(ScoreRule::LogLikelihood, ScoreRule::NormalizedLogLikelihood)
        } else {
            ScoreRule::MeanLoss
        }
    }

    /// Checks that the likelihoods of its labels can be divided by their lengths.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for texts whose score is a mean already, and for an empty label.
    pub(super) fn check_normalizes(&self, by: NormalizeBy) -> Result<()> {
        if self.rule(Some(by)) != ScoreRule::NormalizedLogLikelihood(by) {
            let what =
                "all tokens of its texts are scored, so their scores are means, which cannot be normalized by a length";
            return Err(ErrorKind::Invalid(what.into()).with_way_out(way_out![
                "leave out ",
                Setting::NORMALIZE_BY,
                ", or build texts for LLInferencer"
            ]));
        }
        if by != NormalizeBy::Tokens && self.labels.iter().any(|label| label.name.is_empty()) {
            let what = "one of its labels is empty, and cannot be normalized by its length";
            return Err(ErrorKind::Invalid(what.into()).with_way_out(way_out!["leave out ", Setting::NORMALIZE_BY]));
        }
        Ok(())
    }
}
