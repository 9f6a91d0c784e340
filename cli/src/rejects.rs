//! Bad lines: saved to a file, with the reason, or the end of the command.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;

use crate::args::{OnError, RejectArgs};
use crate::output::{Output, becomes_a_file};
use crate::say::{InFlags, flag, say};
use metatok::error::{At, Result, counted};
use metatok::input::Rejected;

/// How many errors are printed if rows are rejected. The rejects file has all of them.
const SHOWN_ERRORS: u64 = 10;

/// The file for bad lines, for a command with this output; none if it stops at the first one.
pub(crate) fn rejects_path(args: &RejectArgs, output: Option<&Path>) -> Option<PathBuf> {
    match (args.on_error, &args.rejects, output) {
        (OnError::Stop, ..) => None,
        (OnError::Reject, Some(rejects), _) => Some(rejects.clone()),
        (OnError::Reject, None, Some(output)) if becomes_a_file(output) => {
            let mut name = output.to_owned().into_os_string();
            name.push(".rejects.jsonl");
            Some(name.into())
        }
        (OnError::Reject, None, _) => Some("rejects.jsonl".into()),
    }
}

/// The bad lines of a command: saved to a file, which appears only if there are any; or it stops at the first one.
pub(crate) struct Rejects {
    /// What a line is called.
    unit: &'static str,
    /// None if the command stops.
    file: Option<(PathBuf, Output)>,
    count: u64,
}

impl Rejects {
    /// Opens the file, if there is one, for a run with this output. If the run is interrupted, the lines are kept where what
    /// was written before them is.
    pub(crate) fn open(path: Option<PathBuf>, unit: &'static str, beside: &Output) -> Result<Self> {
        let file = match path {
            Some(path) => {
                let output = Output::open(Some(&path))?;
                if beside.keeps_its_beginning() {
                    output.keep_if_interrupted();
                }
                Some((path, output))
            }
            None => None,
        };
        Ok(Self { unit, file, count: 0 })
    }

    /// How many lines are saved.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Saves a line. Breaks if the command stops at it, and says so, with what is written before it.
    pub(crate) fn take(
        &mut self,
        rejected: Rejected,
        progress: &ProgressBar,
        written: impl FnOnce() -> String,
    ) -> Result<ControlFlow<()>> {
        let Some((path, output)) = &mut self.file else {
            progress.finish_and_clear();
            let (unit, written) = (self.unit, written());
            say!("{}", rejected.into_error().in_flags());
            say!("stopped at the first bad {unit} ({written}); use --on-error reject to skip bad {unit}s");
            return Ok(ControlFlow::Break(()));
        };
        self.count += 1;
        let json = rejected.json_with(&flag);
        if self.count <= SHOWN_ERRORS {
            progress.suspend(|| say!("{}", rejected.into_error().in_flags()));
        }
        output.write(&json).at(path.display())?;
        Ok(ControlFlow::Continue(()))
    }

    /// Saves the lines of the last batch that is written: the reader may have read some of its results before it closed
    /// the pipe.
    pub(crate) fn take_last(&mut self, rejected: Vec<Rejected>, progress: &ProgressBar) -> Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        rejected.into_iter().try_for_each(|line| self.take(line, progress, String::new).map(drop))
    }

    /// Ends before the input ends. They are kept if what was written before them is.
    pub(crate) fn end_early(self, beside: &Output) -> Result<()> {
        if beside.keeps_its_beginning() { self.finish(true) } else { Ok(()) }
    }

    pub(crate) fn finish(self, is_quiet: bool) -> Result<()> {
        let Some((path, output)) = self.file else { return Ok(()) };
        if self.count == 0 {
            if !is_quiet && path.is_file() {
                say!("note: {} is of an earlier run: no {} was rejected", path.display(), self.unit);
            }
            return Ok(());
        }
        let more = match self.count.saturating_sub(SHOWN_ERRORS) {
            0 => String::new(),
            more => format!(" ({more} of them not shown)"),
        };
        say!("{} rejected{more}, see {}", counted(self.count, self.unit), path.display());
        output.finish()
    }
}
