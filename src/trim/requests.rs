//! The requests of answers, which come in the same order: they are read as far as the answers are.

use std::collections::VecDeque;

use crate::error::{Error, ErrorKind, Place, Result};
use crate::input::{Batches, Input, RecordPlace, objects};
use crate::server::Asked;

/// Requests that are still to be answered.
pub(super) struct Requests {
    name: String,
    batches: Batches,
    longest: usize,
    waiting: VecDeque<Asked>,
}

impl Requests {
    pub(super) fn new(input: Input, longest: usize) -> Self {
        let name = input.name().to_owned();
        Self { name, batches: objects(vec![input], longest), longest, waiting: VecDeque::new() }
    }

    /// The next ones for this many answers.
    ///
    /// # Errors
    /// If there are fewer, and as for [`Asked::read`].
    pub(super) fn take(&mut self, answers: usize) -> Result<Vec<Asked>> {
        self.read(answers)?;
        match self.waiting.len() < answers {
            true => Err(self.wrong("there are more answers than requests")),
            false => Ok(self.waiting.drain(..answers).collect()),
        }
    }

    /// Checks that all of them are answered.
    ///
    /// # Errors
    /// If there are more, and as for [`Asked::read`].
    pub(super) fn end(&mut self) -> Result<()> {
        self.read(1)?;
        if self.waiting.is_empty() { Ok(()) } else { Err(self.wrong("there are fewer answers than requests")) }
    }

    fn wrong(&self, what: &str) -> Error {
        ErrorKind::Invalid(what.to_owned())
            .with_way_out("one answer must stand in the place of each request, an error too")
            .at(Place::file(&self.name))
    }

    /// Reads until this many are waiting, if there are as many.
    fn read(&mut self, count: usize) -> Result<()> {
        while self.waiting.len() < count {
            let Some(batch) = (self.batches)() else { break };
            for line in &batch.lines {
                let asked = batch.raw(line, self.longest).and_then(|request| Asked::read(&request.json_line()?));
                let place = RecordPlace::new(&batch.input, &line.record.line);
                self.waiting.push_back(asked.map_err(|error| place.of_error(error))?);
            }
            if let Some(error) = batch.error {
                return Err(error);
            }
        }
        Ok(())
    }
}
