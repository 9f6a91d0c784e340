//! The answers of the first file, by their prompts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::answer::{Answer, AnswerKey};
use crate::answers::twice;
use crate::error::Result;

/// The answers of a file, in memory: their ids and their text.
#[derive(Debug)]
pub struct AnswerSet {
    name: String,
    answers: HashMap<AnswerKey, StoredAnswer>,
}

/// An answer of the first file, or that the second has one.
#[derive(Debug)]
struct StoredAnswer {
    /// Its position in the file.
    number: usize,
    /// None after it is compared, and if only the second file has it.
    answer: Option<Answer>,
}

impl AnswerSet {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), answers: HashMap::new() }
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many answers it has.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(super) fn add(&mut self, key: AnswerKey, answer: Answer) -> Result<()> {
        let number = self.answers.len();
        match self.answers.entry(key) {
            Entry::Occupied(entry) => Err(twice(&entry.key().to_string())),
            Entry::Vacant(entry) => {
                entry.insert(StoredAnswer { number, answer: Some(answer) });
                Ok(())
            }
        }
    }

    /// Removes the answer that the second file has too.
    ///
    /// # Errors
    /// If the second file had it before.
    pub(super) fn take(&mut self, key: &AnswerKey) -> Result<Option<Answer>> {
        match self.answers.get_mut(key) {
            Some(stored) => stored.answer.take().map(Some).ok_or_else(|| twice(&key.to_string())),
            None => {
                self.answers.insert(key.clone(), StoredAnswer { number: 0, answer: None });
                Ok(None)
            }
        }
    }

    /// The answers that were not removed, in the order of the file.
    pub(super) fn left(&self) -> impl Iterator<Item = (&AnswerKey, &Answer)> {
        let mut left: Vec<_> = self
            .answers
            .iter()
            .filter_map(|(key, stored)| Some((stored.number, key, stored.answer.as_ref()?)))
            .collect();
        left.sort_by_key(|(number, ..)| *number);
        left.into_iter().map(|(_, key, answer)| (key, answer))
    }
}
