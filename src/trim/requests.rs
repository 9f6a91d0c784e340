//! The requests of answers, which come in the same order: they are read in step with the answers.

use std::collections::VecDeque;

use crate::error::{Error, ErrorKind, Place, Result, counted};
use crate::input::{Batches, Input, objects};
use crate::server::RequestRecord;

/// Requests that are still to be answered.
pub(super) struct Requests {
    name: String,
    batches: Batches,
    longest: usize,
    waiting: VecDeque<RequestRecord>,
    answered: usize,
}

/// What is to be done if there are more of one than of the other.
pub(super) const WAY_OUT: &str = "one answer must be in the place of each request, an error too, as JSON";

impl Requests {
    pub(super) fn new(input: Input, longest: usize) -> Self {
        let name = input.name().to_owned();
        Self { name, batches: objects(vec![input], longest), longest, waiting: VecDeque::new(), answered: 0 }
    }

    /// The next ones for this many answers, or fewer at the end.
    ///
    /// # Errors
    /// As for [`RequestRecord::read`].
    pub(super) fn take(&mut self, answers: usize) -> Result<Vec<RequestRecord>> {
        self.read(answers)?;
        let taken: Vec<_> = self.waiting.drain(..answers.min(self.waiting.len())).collect();
        self.answered += taken.iter().filter(|asked| asked.is_first()).count();
        Ok(taken)
    }

    /// The error for an answer after the last of them.
    pub(super) fn lacks(&self) -> Error {
        let what = format!("there is no request for it: {} has only {}", self.name, counted(self.answered, "request"));
        ErrorKind::Invalid(what).with_way_out(WAY_OUT)
    }

    /// Checks that all of them are answered.
    ///
    /// # Errors
    /// If there are more, and as for [`RequestRecord::read`].
    pub(super) fn end(&mut self) -> Result<()> {
        self.read(1)?;
        if self.waiting.is_empty() {
            return Ok(());
        }
        let what = match self.waiting.front() {
            Some(asked) if !asked.is_first() => "the last request asks for more answers than there are".to_owned(),
            _ => format!("there are more requests than answers, which are only {}", self.answered),
        };
        Err(ErrorKind::Invalid(what).with_way_out(WAY_OUT).at(Place::file(&self.name)))
    }

    /// Reads until this many are waiting, if there are as many.
    fn read(&mut self, count: usize) -> Result<()> {
        while self.waiting.len() < count {
            let Some(batch) = (self.batches)() else { break };
            for line in &batch.lines {
                let asked =
                    batch.raw(line, self.longest).and_then(|request| RequestRecord::read(&request.json_line()?));
                self.waiting.extend(asked.map_err(|error| batch.place(line).of_error(error))?.each());
            }
            if let Some(error) = batch.error {
                return Err(error);
            }
        }
        Ok(())
    }
}
