//! The answers of a run: returned as they come, or kept in a journal, from which an interrupted run is resumed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result, Setting, counted, way_out};
use crate::fingerprint::Fingerprint;
use crate::input::from_json;
use crate::run::{Journal, Place};

/// The answers of a run.
#[derive(Debug)]
pub struct RunAnswers {
    to: To,
    /// How many rows have an error instead of an answer.
    refused: u64,
}

#[derive(Debug)]
enum To {
    /// Answers of rows that are answered together wait until all are complete.
    Stream(Vec<(Place, String)>),
    Journal(Journal),
}

/// The journal for this output file: it is next to it.
pub fn journal_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

impl RunAnswers {
    /// Returned as they come.
    pub fn streamed() -> Self {
        Self { to: To::Stream(Vec::new()), refused: 0 }
    }

    /// Kept in a journal: the existing one, if the run is resumed, or a new one.
    ///
    /// # Errors
    /// If the journal is damaged, has answers but should not be resumed, or has another fingerprint; if another run is
    /// writing it.
    pub fn journaled(path: &Path, resume: bool, fingerprint: &Fingerprint) -> Result<Self> {
        let (journal, refused) = open_journal(path, resume, fingerprint)?;
        Ok(Self { to: To::Journal(journal), refused })
    }

    /// How many rows are already answered.
    pub fn rows(&self) -> u64 {
        match &self.to {
            To::Stream(_) => 0,
            To::Journal(journal) => journal.rows,
        }
    }

    /// How many rows have an error instead of an answer.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Records a complete answer.
    pub(crate) fn add(&mut self, place: Place, json: String) -> Result<()> {
        self.write(place, json, false)
    }

    /// Records an error instead of an answer.
    pub(crate) fn refuse(&mut self, place: Place, json: String) -> Result<()> {
        self.write(place, json, true)
    }

    fn write(&mut self, place: Place, json: String, is_refused: bool) -> Result<()> {
        let is_new = match &mut self.to {
            To::Stream(answers) => {
                answers.push((place, json));
                true
            }
            To::Journal(journal) => journal.add(place, from_json(&json)?, is_refused)?,
        };
        self.refused += u64::from(is_refused && is_new);
        Ok(())
    }

    /// This many rows are answered: answers without a journal are returned, in the order of the rows. Stops when `take`
    /// does.
    pub(crate) fn done(
        &mut self,
        rows: u64,
        mut take: impl FnMut(&str) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match &mut self.to {
            To::Stream(answers) => {
                answers.sort_by_key(|(place, _)| *place);
                for (_, json) in answers.drain(..) {
                    if take(&json)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            To::Journal(journal) => journal.done(rows)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the kept answers, in the order of the rows.
    ///
    /// # Errors
    /// If the journal is not what was written to it; errors of `take`.
    pub fn each(&self, take: impl FnMut(&str) -> Result<()>) -> Result<()> {
        match &self.to {
            To::Stream(_) => Ok(()),
            To::Journal(journal) => journal.each(take),
        }
    }

    /// Removes the journal, when its contents are stored elsewhere.
    ///
    /// # Errors
    /// Errors of removing the file.
    pub fn remove(self) -> Result<()> {
        match self.to {
            To::Stream(_) => Ok(()),
            To::Journal(journal) => journal.remove(),
        }
    }
}

/// The journal of an output: the existing one, if it is continued, or a new one. Also returns for how many rows it has
/// an error.
fn open_journal(path: &Path, resume: bool, fingerprint: &Fingerprint) -> Result<(Journal, u64)> {
    let found = Journal::open(path)?;
    let differences = found.differences(fingerprint);
    let refused = found.refused;
    let (what, way_out) = match found.answers {
        // There is nothing to lose.
        0 => return Ok((found.begin(fingerprint)?, 0)),
        _ if resume && differences.is_empty() => return Ok((found.resume()?, refused)),
        _ if resume => (
            format!("its answers were made with other settings: {}", differences.join("; ")),
            "remove it to start over".into(),
        ),
        answers => (
            format!("it has {} of an interrupted run", counted(answers, "answer")),
            way_out!["continue it with ", Setting::RESUME, ", or remove it to start over"],
        ),
    };
    Err(ErrorKind::Usage(what).with_way_out(way_out).at(path.display()))
}
