//! Whether answers are right: each is compared with its references.
//!
//! ```
//! use metatok::score::{Compare, Scorer};
//!
//! let scorer = Scorer::new(Compare::Number);
//! assert!(scorer.score("That makes $18.00.", &["#### 18"]).is_correct);
//! ```

mod answer;
mod answers_seen;
mod choice;
mod exact;
mod label_words;
mod labels_found;
mod labeled_row;
mod line;
mod log_likelihood;
mod normalize_by;
mod next_question;
mod number;
mod pattern;
mod picked_label;
mod tally;
mod text_to_score;
mod texts_to_score;
mod votes;

use std::borrow::Cow;

pub use answer::ScoredAnswer;
pub use answers_seen::AnswersSeen;
pub use line::scored_line;
pub use log_likelihood::{LogLikelihood, ScoreRule};
pub use normalize_by::NormalizeBy;
pub use pattern::{Pattern, Which};
pub use picked_label::{LabelScore, PickedLabel};
pub use tally::Tally;
pub use texts_to_score::{LogLikelihoods, TextsToScore};
pub use votes::Votes;

use crate::error::{At, ErrorKind, Result, Setting, way_out};
use crate::turns::without_thoughts;

/// How an answer and its reference are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compare {
    /// As texts, without surrounding white space.
    Exact {
        /// Whether upper and lower case are the same.
        ignore_case: bool,
        /// Whether ASCII punctuation is left out.
        ignore_punctuation: bool,
    },
    /// As numbers: the last one of each text, regardless of commas and zeros, `$1,234.50` as `1234.5`.
    Number,
    /// As one of these labels: the one that the answer settles on.
    Choice(Vec<String>),
}

/// Which part of answers and references is compared, and how.
///
/// ```
/// use metatok::score::{Compare, Scorer};
///
/// let scorer = Scorer::new(Compare::Number);
/// let score = scorer.score("She makes 9 * 2 = $18.00 a day.", &["16 - 3 - 4 = 9\n#### 18"]);
/// assert_eq!(score.found.as_deref(), Some("18"));
/// assert!(score.is_correct);
///
/// let scorer = Scorer::new(Compare::Choice(["A", "B", "C"].map(String::from).into()));
/// assert!(scorer.score("A whale is no fish, so the answer is (B).", &["B"]).is_correct);
/// // Which one is meant?
/// assert_eq!(scorer.score("A or B", &["B"]).found, None);
/// ```
#[derive(Debug, Clone)]
pub struct Scorer {
    /// How they are compared.
    pub compare: Compare,
    /// Which part of an answer is compared; all of it by default.
    pub pattern: Option<Pattern>,
    /// Which part of a reference is compared.
    pub reference_pattern: Option<Pattern>,
    /// Whether a model's thoughts, up to `</think>`, are left out of its answer. An answer that begins with `<think>` and
    /// has no end of thoughts is empty.
    pub strip_thoughts: bool,
}

/// The score of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Score {
    /// The part of the answer that was compared; none if it has no such part.
    pub found: Option<String>,
    /// Whether it is one of the references.
    pub is_correct: bool,
}

impl Scorer {
    /// Compares whole texts in this way.
    pub fn new(compare: Compare) -> Self {
        Self { compare, pattern: None, reference_pattern: None, strip_thoughts: false }
    }

    /// Whether an answer equals one of the references, which are alternatives.
    pub fn score(&self, answer: &str, references: &[impl AsRef<str>]) -> Score {
        let answer = if self.strip_thoughts { without_thoughts(answer) } else { answer };
        let found = self.found(answer, self.pattern.as_ref());
        let is_correct = found.as_ref().is_some_and(|found| {
            references.iter().any(|reference| self.reference(reference.as_ref()).as_ref() == Some(found))
        });
        Score { found, is_correct }
    }

    /// The score of an answer whose references are in this column; none if it failed.
    ///
    /// ```
    /// use metatok::score::{Compare, ScoredAnswer, Scorer};
    ///
    /// let answer = ScoredAnswer::read(r#"{"columns": {"answer": "18"}, "text": "That makes 18."}"#)?;
    /// let score = Scorer::new(Compare::Number).score_answer(&answer, "answer")?;
    /// assert!(score.is_some_and(|score| score.is_correct));
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`ScoredAnswer::references`] and [`Self::check`].
    pub fn score_answer(&self, answer: &ScoredAnswer, column: &str) -> Result<Option<Score>> {
        let Some(text) = answer.text() else { return Ok(None) };
        let references = answer.references(column)?;
        self.check(&references).at(column).at("columns")?;
        Ok(Some(self.score(text, &references)))
    }

    /// The part of a reference that is compared; none if it has no such part, so that no answer would be right.
    pub fn reference(&self, reference: &str) -> Option<String> {
        self.found(reference, self.reference_pattern.as_ref())
    }

    /// Rejects references without such a part: no answer could be right.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the reference.
    pub fn check(&self, references: &[impl AsRef<str>]) -> Result<()> {
        if references.iter().any(|reference| self.reference(reference.as_ref()).is_some()) {
            return Ok(());
        }
        let references: Vec<&str> = references.iter().map(AsRef::as_ref).collect();
        let (what, way_out) = match (&self.reference_pattern, &self.compare) {
            (Some(_), _) => ("the pattern for references finds nothing in it to compare".to_owned(), None),
            (None, Compare::Choice(labels)) => (
                format!("it is not one of the choices {}", labels.join(", ")),
                Some(way_out!["set others with ", Setting::CHOICES]),
            ),
            (None, Compare::Number) => {
                ("it contains no number".to_owned(), Some("compare by exact, or use another column".into()))
            }
            (None, Compare::Exact { .. }) => ("there is nothing to compare with".to_owned(), None),
        };
        let error = ErrorKind::Invalid(format!("{references:?}: {what}"));
        Err(match way_out {
            Some(way_out) => error.with_way_out(way_out),
            None => error.into(),
        })
    }

    fn found(&self, text: &str, pattern: Option<&Pattern>) -> Option<String> {
        let text = match pattern {
            Some(pattern) => pattern.find(text)?,
            None => text,
        };
        match &self.compare {
            Compare::Exact { ignore_case, ignore_punctuation } => {
                Some(plain(text, *ignore_case, *ignore_punctuation).into_owned())
            }
            Compare::Number => number::last_of_answer(text),
            Compare::Choice(labels) => choice::settled(text, labels).map(str::to_owned),
        }
    }
}

/// A text as it is compared.
fn plain(text: &str, ignore_case: bool, ignore_punctuation: bool) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text.trim());
    if ignore_case {
        text = text.to_lowercase().into();
    }
    if ignore_punctuation {
        let kept: String = text.chars().filter(|c| !c.is_ascii_punctuation()).collect();
        text = kept.trim().to_owned().into();
    }
    text
}
