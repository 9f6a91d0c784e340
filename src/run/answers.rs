//! The answers of a run: returned as they come, or kept in a journal, from which an interrupted run is resumed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result, Setting, counted, way_out};
use crate::fingerprint::Fingerprint;
use crate::input::from_json;
use crate::run::{AnswerPlace, Counts, FoundJournal, Journal, KnownAnswer};

/// The answers of a run.
#[derive(Debug)]
pub struct RunAnswers {
    to: To,
    /// How many answers there are, those of an interrupted run included.
    answers: u64,
    /// How many errors there are instead of answers.
    refused: u64,
    /// How many rows these belong to.
    refused_rows: u64,
    /// The row of the last error. The errors of a row come one after another.
    last_refused: Option<u64>,
    /// Whether these are asked again.
    retry_errors: bool,
}

#[derive(Debug)]
enum To {
    /// Answers of later rows wait until all rows before them are answered.
    Stream(BTreeMap<AnswerPlace, String>),
    Journal(Journal),
}

/// Whether a run continues an interrupted one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResumeOptions {
    /// It continues. Otherwise a journal with answers is an error.
    pub resume: bool,
    /// Rows with an error in place of an answer are asked again.
    pub retry_errors: bool,
}

/// The journal of the answers for this file, next to it.
pub fn journal_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

impl RunAnswers {
    /// Returned as they come.
    pub fn streamed() -> Self {
        Self::of(To::Stream(BTreeMap::new()), Counts::default(), false)
    }

    /// Kept in a journal: the existing one, if the run is resumed, or a new one.
    ///
    /// # Errors
    /// If the journal is damaged, if it has answers and is not to be resumed, if its fingerprint differs, or if another
    /// run is writing it.
    pub fn journaled(path: &Path, resume: ResumeOptions, fingerprint: &Fingerprint) -> Result<Self> {
        let (journal, mut counts) = open_journal(path, resume, fingerprint)?;
        if resume.retry_errors {
            counts = Counts { answers: counts.answers, ..Counts::default() };
        }
        Ok(Self::of(To::Journal(journal), counts, resume.retry_errors))
    }

    fn of(to: To, counts: Counts, retry_errors: bool) -> Self {
        let Counts { answers, refused, refused_rows } = counts;
        Self { to, answers, refused, refused_rows, last_refused: None, retry_errors }
    }

    /// The recorded answer of a row that was in progress when a run was interrupted. An error does not count if errors
    /// are to be asked again.
    pub(crate) fn known(&self, place: AnswerPlace) -> Result<Option<KnownAnswer>> {
        match &self.to {
            To::Stream(_) => Ok(None),
            To::Journal(journal) => {
                Ok(journal.known(place)?.filter(|answer| !(answer.is_refused && self.retry_errors)))
            }
        }
    }

    /// Whether a row that was in progress when a run was interrupted has this many answers, or errors that are not asked
    /// again.
    pub(crate) fn has_all(&self, row: u64, answers: usize) -> bool {
        match &self.to {
            To::Stream(_) => false,
            To::Journal(journal) if self.retry_errors && journal.is_refused(row) => false,
            To::Journal(journal) => journal.count(row) >= answers,
        }
    }

    /// How many rows are already answered.
    pub fn rows(&self) -> u64 {
        match &self.to {
            To::Stream(_) => 0,
            To::Journal(journal) => journal.rows,
        }
    }

    /// How many answers there are, those of an interrupted run included.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Whether a journal keeps them, so that the run can be resumed.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.to, To::Journal(_))
    }

    /// How many errors there are instead of answers, those of the later turns of a dialogue included.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// How many rows these belong to.
    pub fn refused_rows(&self) -> u64 {
        self.refused_rows
    }

    /// Records a complete answer.
    pub(crate) fn add(&mut self, place: AnswerPlace, json: String) -> Result<()> {
        self.write(place, json, false)
    }

    /// Records an error instead of an answer.
    pub(crate) fn refuse(&mut self, place: AnswerPlace, json: String) -> Result<()> {
        self.write(place, json, true)
    }

    fn write(&mut self, place: AnswerPlace, json: String, is_refused: bool) -> Result<()> {
        let is_first_of_row = match &self.to {
            To::Journal(journal) if !self.retry_errors => !journal.is_refused(place.0),
            _ => self.last_refused != Some(place.0),
        };
        let is_new = match &mut self.to {
            To::Stream(answers) => answers.insert(place, json).is_none(),
            To::Journal(journal) => journal.add(place, from_json(&json)?, is_refused)?,
        };
        self.answers += u64::from(is_new && !is_refused);
        // An error that comes again is not written again.
        if is_refused && (is_new || self.retry_errors) {
            self.refused += 1;
            self.refused_rows += u64::from(is_first_of_row);
            self.last_refused = Some(place.0);
        }
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
                while let Some(first) = answers.first_entry().filter(|first| first.key().0 < rows) {
                    if take(&first.remove())?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            To::Journal(journal) => journal.done(rows)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The run has ended before it was complete: answers without a journal that waited for earlier rows are returned too.
    pub(crate) fn hand_out_rest(&mut self, take: impl FnMut(&str) -> Result<ControlFlow<()>>) -> Result<()> {
        match self.is_kept() {
            true => Ok(()),
            false => self.done(u64::MAX, take).map(drop),
        }
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

/// The journal of an output: the existing one if it is to be continued, or a new one; and what is in it.
fn open_journal(path: &Path, options: ResumeOptions, fingerprint: &Fingerprint) -> Result<(Journal, Counts)> {
    let ResumeOptions { resume, retry_errors } = options;
    let found = FoundJournal::open(path)?;
    let differences = found.differences(fingerprint);
    let counts = found.counts();
    let (what, way_out) = match (counts, resume) {
        // There is nothing to lose.
        (Counts { answers: 0, refused: 0, .. }, _) => return Ok((found.begin(fingerprint)?, counts)),
        (_, true) if differences.is_empty() => return Ok((found.resume(retry_errors)?, counts)),
        (_, true) => (
            format!("its answers were made with other settings: {}", differences.join("; ")),
            "remove it to start over".into(),
        ),
        (Counts { answers, refused: 0, .. }, false) => (
            format!("it has {} of an interrupted run", counted(answers, "answer")),
            way_out!["continue it with ", Setting::RESUME, ", or remove it to start over"],
        ),
        (Counts { answers, refused, .. }, false) => (
            format!("it has {} and {} of an earlier run", counted(answers, "answer"), counted(refused, "error")),
            way_out![
                "continue it with ",
                Setting::RESUME,
                ", which with ",
                Setting::RETRY_ERRORS,
                " sends what failed again, or remove it to start over"
            ],
        ),
    };
    Err(ErrorKind::Usage(what).with_way_out(way_out).at(path.display()))
}
