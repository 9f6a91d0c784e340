//! How many answers are right.

use serde::Serialize;

use crate::score::Score;

/// Counts of answers. The accuracy includes all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All answers.
    pub answers: u64,
    /// Those that are right.
    pub correct: u64,
    /// Those with nothing to compare, which are wrong.
    pub nothing_found: u64,
    /// Those with an error instead of an answer, which are wrong too.
    pub failed: u64,
}

impl Tally {
    /// Counts an answer; none if it failed.
    pub fn add(&mut self, score: Option<&Score>) {
        self.answers += 1;
        match score {
            None => self.failed += 1,
            Some(score) => {
                self.correct += u64::from(score.is_correct);
                self.nothing_found += u64::from(score.found.is_none());
            }
        }
    }

    /// Adds the counts of another.
    pub fn append(&mut self, other: Self) {
        self.answers += other.answers;
        self.correct += other.correct;
        self.nothing_found += other.nothing_found;
        self.failed += other.failed;
    }

    /// The share of answers that are right, in percent; 0 if there are none.
    #[allow(clippy::cast_precision_loss, reason = "counts of answers are far below 2^52")]
    pub fn accuracy(&self) -> f64 {
        if self.answers == 0 { 0.0 } else { self.correct as f64 * 100.0 / self.answers as f64 }
    }

    /// The mean of the accuracies of datasets, each with the same weight; 0 if there are none.
    #[allow(clippy::cast_precision_loss, reason = "there are far fewer datasets than 2^52")]
    pub fn mean_accuracy<'t>(datasets: impl ExactSizeIterator<Item = &'t Self>) -> f64 {
        let count = datasets.len().max(1) as f64;
        datasets.map(Self::accuracy).sum::<f64>() / count
    }
}
