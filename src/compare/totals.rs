//! How many answers are equal, and where the others begin to differ.

use super::{Comparison, FirstDifference};

/// How many answers are equal, and where the others begin to differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompareTotals {
    /// Answers that are equal.
    pub equal: u64,
    /// Answers that differ. They are in both files.
    pub differ: u64,
    /// Those among them with an error in place of an answer, in either file.
    pub errors: u64,
    /// Answers that only the first file has.
    pub only_in_a: u64,
    /// Answers that only the second file has.
    pub only_in_b: u64,
    /// The indexes of the first tokens that differ, in ascending order.
    pub tokens: Vec<usize>,
    /// The bytes at which text begins to differ, if one of the answers has only text, in ascending order.
    pub bytes: Vec<usize>,
}

impl CompareTotals {
    /// Whether both files have the same answers.
    pub fn is_equal(&self) -> bool {
        self.differ + self.only_in_a + self.only_in_b == 0
    }

    pub(super) fn add(&mut self, comparison: &Comparison<'_>) {
        match comparison.first_difference {
            Some(FirstDifference::Token(index)) => self.tokens.push(index),
            Some(FirstDifference::Byte { byte }) => self.bytes.push(byte),
            None => self.errors += u64::from(comparison.a.is_some()),
        }
        self.equal += u64::from(comparison.equal);
        self.differ += u64::from(comparison.a.is_some());
    }

    pub(super) fn sort(&mut self) {
        self.tokens.sort_unstable();
        self.bytes.sort_unstable();
    }
}
