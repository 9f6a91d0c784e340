//! How likely an engine found a text, and what follows for the labels of a row.

use crate::score::NormalizeBy;
use crate::server::LEAST;

/// How likely an engine found the scored part of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogLikelihood {
    /// The sum of the log-probabilities of its tokens, minus infinity if one of them is impossible. A text's first token has
    /// none.
    pub sum: f64,
    /// How many tokens are scored, with a text's first one.
    pub tokens: usize,
}

impl LogLikelihood {
    /// The mean loss of a token: the natural logarithm of the perplexity. It is divided by all scored tokens, as in
    /// OpenCompass's `get_ppl`, though a text's first token has no loss.
    ///
    /// ```
    /// use metatok::score::LogLikelihood;
    ///
    /// assert_eq!(LogLikelihood { sum: -6.0, tokens: 4 }.mean_loss(), 1.5);
    /// ```
    #[allow(clippy::cast_precision_loss, reason = "texts have far fewer tokens than 2^52")]
    pub fn mean_loss(self) -> f64 {
        // This avoids -0.
        (0.0 - self.sum) / self.tokens as f64
    }
}

/// How the texts of a row are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScoreRule {
    /// The lowest mean loss is the answer: `PPLInferencer`.
    MeanLoss,
    /// The lowest mean loss, less that of the answer after the normalizing string, is the answer: `PPLInferencer` with
    /// `normalizing_str`.
    NormalizedLoss,
    /// The highest sum of log-probabilities is the answer: `LLInferencer`, and `acc` of lm-evaluation-harness.
    LogLikelihood,
    /// The highest sum of log-probabilities, divided by the label's length, is the answer: `acc_norm` of
    /// lm-evaluation-harness.
    NormalizedLogLikelihood(NormalizeBy),
}

impl ScoreRule {
    /// A label's score, by the likelihood of its text and of the one that normalizes it.
    #[allow(clippy::cast_precision_loss, reason = "labels are far shorter than 2^52")]
    pub(super) fn score(self, label: &str, text: LogLikelihood, normalizing: Option<LogLikelihood>) -> Option<f64> {
        let score = match self {
            Self::MeanLoss => text.mean_loss(),
            // An impossible text stays so, whatever is taken off.
            Self::NormalizedLoss => {
                text.mean_loss() - Some(normalizing?.mean_loss()).filter(|_| text.sum.is_finite()).unwrap_or_default()
            }
            Self::LogLikelihood => text.sum,
            Self::NormalizedLogLikelihood(by) => text.sum / by.length(label, text.tokens) as f64,
        };
        // JSON has no infinity.
        Some(score.clamp(LEAST, -LEAST))
    }

    /// Whether the lowest score is the best.
    fn is_loss(self) -> bool {
        matches!(self, Self::MeanLoss | Self::NormalizedLoss)
    }

    /// The place of the best score. Of equal ones, the first.
    pub(super) fn best(self, scores: &[f64]) -> Option<usize> {
        let is_better = |a: f64, b: f64| if self.is_loss() { a < b } else { a > b };
        let better = |best: usize, other: usize| if is_better(scores[other], scores[best]) { other } else { best };
        (0..scores.len()).reduce(better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_scores_is_the_best() {
        for (rule, scores, best) in [
            (ScoreRule::MeanLoss, &[2.0, 1.0, 1.0][..], Some(1)),
            (ScoreRule::NormalizedLoss, &[0.5, -0.5], Some(1)),
            (ScoreRule::LogLikelihood, &[-2.0, -1.0, -1.0], Some(1)),
            (ScoreRule::LogLikelihood, &[-1.0, -2.0], Some(0)),
            (ScoreRule::NormalizedLogLikelihood(NormalizeBy::Bytes), &[-2.0, -1.0], Some(1)),
            (ScoreRule::MeanLoss, &[], None),
        ] {
            assert_eq!(rule.best(scores), best, "{rule:?} {scores:?}");
        }
    }

    #[test]
    fn impossible_texts_are_equal_and_have_finite_scores() {
        let text = |sum| LogLikelihood { sum, tokens: 3 };
        let (impossible, possible) = (text(f64::NEG_INFINITY), text(-6.0));
        for (rule, text, normalizing, score) in [
            (ScoreRule::MeanLoss, impossible, None, 1e300),
            (ScoreRule::NormalizedLoss, impossible, Some(possible), 1e300),
            (ScoreRule::NormalizedLoss, impossible, Some(impossible), 1e300),
            (ScoreRule::NormalizedLoss, possible, Some(impossible), -1e300),
            (ScoreRule::NormalizedLoss, possible, Some(possible), 0.0),
            (ScoreRule::LogLikelihood, impossible, None, -1e300),
            (ScoreRule::NormalizedLogLikelihood(NormalizeBy::Tokens), impossible, None, -1e300),
        ] {
            assert_eq!(rule.score("Paris", text, normalizing), Some(score), "{rule:?} {text:?} {normalizing:?}");
        }
    }
}
