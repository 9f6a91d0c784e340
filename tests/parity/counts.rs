//! What became of the cases of a file, and the line that says it.

use std::collections::HashMap;

use serde_json::Value;

/// What became of a case.
pub(crate) enum Outcome {
    Passed,
    /// Differs, and the exception of this name says why.
    Excepted(String),
    Failed(String),
    /// Its kind is not replayed, or its tokenizer is not here.
    Skipped(String),
}

impl Outcome {
    /// With what comes later in the same case: the first failure counts, or else the last exception.
    pub(crate) fn then(self, later: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Passed => later(),
            Self::Excepted(rule) => match later() {
                Self::Passed => Self::Excepted(rule),
                other => other,
            },
            other => other,
        }
    }
}

#[derive(Default)]
pub(crate) struct Counts {
    passed: usize,
    pub(crate) failed: usize,
    excepted: HashMap<String, usize>,
    skipped: HashMap<String, usize>,
}

impl Counts {
    pub(crate) fn add(&mut self, case: &Value, outcome: Outcome, name: &str) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Excepted(rule) => *self.excepted.entry(rule).or_default() += 1,
            Outcome::Skipped(kind) => *self.skipped.entry(kind).or_default() += 1,
            Outcome::Failed(message) => {
                self.failed += 1;
                if self.failed <= 5 {
                    println!("{name}: {}: {message}", case["id"]);
                }
            }
        }
    }

    pub(crate) fn replayed(&self) -> usize {
        self.passed + self.failed + self.excepted.values().sum::<usize>()
    }

    pub(crate) fn print(&self, name: &str) {
        let list = |counts: &HashMap<String, usize>| {
            let mut counts: Vec<String> = counts.iter().map(|(what, n)| format!("{what} {n}")).collect();
            counts.sort();
            counts.join(", ")
        };
        let total = self.replayed();
        if total == 0 {
            println!("{name} not replayed ({})", list(&self.skipped));
            return;
        }
        let mut line = format!("{name} {}/{total}", total - self.failed);
        for (what, counts) in [("by exception", &self.excepted), ("not replayed", &self.skipped)] {
            if !counts.is_empty() {
                line += &format!(" ({what}: {})", list(counts));
            }
        }
        println!("{line}");
    }
}
