//! How often a package's prompts and metatok's are the same, and where they differ.

use std::collections::BTreeMap;
use std::fmt;

use metatok::Result;
use serde_json::Value;

use super::datasets::{Known, OnlyThere};
use super::package::Outcome;

/// What was compared.
pub(crate) struct Counts<'k> {
    known: &'k [OnlyThere],
    pub(crate) prompts: usize,
    /// How many of them are turns of dialogues.
    pub(crate) turns: usize,
    equal: BTreeMap<String, usize>,
    /// Both say that there is no such prompt.
    pub(crate) refused_by_both: usize,
    only_there: BTreeMap<String, usize>,
    /// What the package's parser for API models loses and this one keeps.
    pub(crate) lost_there: usize,
    pub(crate) wrong: Vec<String>,
}

impl<'k> Counts<'k> {
    pub(crate) fn new(known: &'k Known) -> Self {
        Self {
            known: &known.only_there,
            prompts: 0,
            turns: 0,
            equal: BTreeMap::new(),
            refused_by_both: 0,
            only_there: BTreeMap::new(),
            lost_there: 0,
            wrong: Vec::new(),
        }
    }

    pub(crate) fn compare(&mut self, name: &str, place: &str, there: &Outcome<Value>, here: Result<Value>) {
        match (there, here) {
            (Outcome::Ok(there), Ok(here)) if *there == here => *self.equal.entry(name.to_owned()).or_default() += 1,
            (Outcome::Ok(there), Ok(here)) => self.wrong.push(format!("{place}: {name}\nthere {there}\nhere  {here}")),
            (Outcome::Ok(_), Err(error)) => self.wrong.push(format!("{place}: {name}: here {error}")),
            (Outcome::Error(_), Err(_)) => self.refused_by_both += 1,
            (Outcome::Error(error), Ok(_)) => match self.known.iter().find(|known| error.starts_with(&known.error)) {
                Some(known) => *self.only_there.entry(known.error.clone()).or_default() += 1,
                None => self.wrong.push(format!("{place}: {name}: there {error}")),
            },
        }
    }

    pub(crate) fn check(&self) {
        assert!(
            self.wrong.is_empty(),
            "{} differ, such as\n{}",
            self.wrong.len(),
            self.wrong[..self.wrong.len().min(12)].join("\n")
        );
    }
}

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} prompts of which {} turns, equal {:?}, refused by both {}, refused only there {:?}, lost there {}",
            self.prompts, self.turns, self.equal, self.refused_by_both, self.only_there, self.lost_there
        )
    }
}
