//! Whether answers are right: each is compared with its references.
//!
//! ```
//! use metatok::score::{Compare, Scorer};
//!
//! let scorer = Scorer::new(Compare::Number);
//! assert!(scorer.score("That makes $18.00.", &["#### 18"]).is_correct);
//! ```

mod answer;
mod choice;
mod number;
mod pattern;
mod tally;

use std::borrow::Cow;

pub use answer::ScoredAnswer;
pub use pattern::{Pattern, Which};
pub use tally::Tally;

use crate::error::{ErrorKind, Result, Setting, way_out};

/// How an answer and its reference are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compare {
    /// As texts, without the white space around them.
    Exact {
        /// Whether capital letters are small ones.
        ignore_case: bool,
        /// Whether ASCII punctuation is left out.
        ignore_punctuation: bool,
    },
    /// As numbers: the last of each text, whatever its commas and zeros, `$1,234.50` as `1234.5`.
    Number,
    /// As one of these labels: the one that the answer settles on.
    Choice(Vec<String>),
}

/// What is looked at in answers and references, and how both are compared.
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
    /// What of an answer is looked at; all of it, if nothing is said.
    pub pattern: Option<Pattern>,
    /// What of a reference is looked at.
    pub reference_pattern: Option<Pattern>,
}

/// What an answer is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    /// What was found in the answer to compare; none where it has nothing of the kind.
    pub found: Option<String>,
    /// Whether it is one of the references.
    pub is_correct: bool,
}

impl Scorer {
    /// Compares whole texts so.
    pub fn new(compare: Compare) -> Self {
        Self { compare, pattern: None, reference_pattern: None }
    }

    /// Whether an answer is one of the references, which are names of the same thing.
    pub fn score(&self, answer: &str, references: &[impl AsRef<str>]) -> Score {
        let found = self.found(answer, self.pattern.as_ref());
        let is_correct = found.as_ref().is_some_and(|found| {
            references.iter().any(|reference| self.reference(reference.as_ref()).as_ref() == Some(found))
        });
        Score { found, is_correct }
    }

    /// What a reference is compared by; none where it has nothing of the kind, so that no answer would be right.
    pub fn reference(&self, reference: &str) -> Option<String> {
        self.found(reference, self.reference_pattern.as_ref())
    }

    /// Refuses references with nothing in them to compare: no answer could be right.
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
                format!("it is none of the choices {}", labels.join(", ")),
                Some(way_out!["name others with ", Setting::CHOICES]),
            ),
            (None, _) => {
                ("there is no number in it".to_owned(), Some("compare by exact, or take another column".into()))
            }
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
            Compare::Number => number::last(text),
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
