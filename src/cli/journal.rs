//! Where a run's answers go: to standard output as they come, or into a file, which a run that was cut off leaves half
//! done beside it, to be resumed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::cli::output::{Output, count};
use crate::cli::setup::from_json;
use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::run::{Journal, Place};

/// The answers of a run.
pub(crate) struct Answers {
    to: To,
    /// How many rows have an error in place of an answer.
    refused: u64,
}

enum To {
    /// Those of the rows that are answered together wait until all are.
    Stream(Output, Vec<(Place, Vec<u8>)>),
    /// Into this file when all are there.
    File(Journal, PathBuf),
}

/// The journal of the answers that come into this file.
pub(crate) fn path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

impl Answers {
    /// Opens the output, or the journal beside it. Nothing, if there is nothing to resume because all is there.
    /// Only a journal needs the fingerprint, for which all of the tokenizer and the input is read.
    pub(crate) fn open(
        output: Option<&Path>,
        resume: bool,
        fingerprint: impl FnOnce() -> Result<Fingerprint>,
    ) -> Result<Option<Self>> {
        let file = output.filter(|path| path.metadata().map_or(true, |metadata| metadata.is_file()));
        let Some(file) = file else {
            if resume {
                let what = "--resume is for answers in a file; name it with --output";
                return Err(ErrorKind::Usage(what.into()).into());
            }
            return Ok(Some(Self { to: To::Stream(Output::open(output)?, Vec::new()), refused: 0 }));
        };
        let path = path(file);
        if resume && !path.exists() && file.exists() {
            return Ok(None);
        }
        let (journal, refused) = open_journal(&path, resume, &fingerprint()?)?;
        Ok(Some(Self { to: To::File(journal, file.into()), refused }))
    }

    /// How many rows are answered already.
    pub(crate) fn rows(&self) -> u64 {
        match &self.to {
            To::Stream(..) => 0,
            To::File(journal, _) => journal.rows,
        }
    }

    /// An answer is complete.
    pub(crate) fn add(&mut self, place: Place, json: &str) -> Result<()> {
        self.write(place, json, false)
    }

    /// There is an error in place of an answer.
    pub(crate) fn refuse(&mut self, place: Place, json: &str) -> Result<()> {
        self.write(place, json, true)
    }

    fn write(&mut self, place: Place, json: &str, is_refused: bool) -> Result<()> {
        let is_new = match &mut self.to {
            To::Stream(_, answers) => {
                answers.push((place, format!("{json}\n").into_bytes()));
                true
            }
            To::File(journal, _) => journal.add(place, from_json(json)?, is_refused)?,
        };
        self.refused += u64::from(is_refused && is_new);
        Ok(())
    }

    /// So many rows are answered. Breaks off where nobody reads any more.
    pub(crate) fn done(&mut self, rows: u64) -> Result<ControlFlow<()>> {
        match &mut self.to {
            To::Stream(output, answers) => {
                answers.sort_by_key(|(place, _)| *place);
                for (_, json) in answers.drain(..) {
                    if output.stream(&json)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            To::File(journal, _) => journal.done(rows)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    /// All rows are answered; gives how many have an error in place of an answer.
    pub(crate) fn finish(self) -> Result<u64> {
        match self.to {
            To::Stream(output, _) => output.finish()?,
            To::File(journal, path) => {
                let mut output = Output::open(Some(&path))?;
                journal
                    .each(|json| output.write(format!("{json}\n").as_bytes()).map_err(|error| output.failed(error)))?;
                output.finish()?;
                journal.remove()?;
            }
        }
        Ok(self.refused)
    }
}

/// The journal of an output: the one that is there, if it is to be gone on with, or a new one. Gives how many rows it has
/// an error for too.
fn open_journal(path: &Path, resume: bool, fingerprint: &Fingerprint) -> Result<(Journal, u64)> {
    let found = Journal::open(path)?;
    let differences = found.differences(fingerprint);
    let refused = found.refused;
    let what = match found.answers {
        // There is nothing to lose.
        0 => return Ok((found.begin(fingerprint)?, 0)),
        _ if resume && differences.is_empty() => return Ok((found.resume()?, refused)),
        _ if resume => {
            format!("the answers in it were made with {}; remove it to start again", differences.join(", "))
        }
        answers => format!(
            "it has {} of a run that was cut off: --resume goes on from there; remove it to start again",
            count(answers, "answer")
        ),
    };
    Err(ErrorKind::Usage(what)).at(path.display())
}
