//! Bad lines: saved to a file, with the reason.

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

/// Says at which line a command stopped that rejects none, and what is written before it.
pub(crate) fn say_stopped(rejected: Rejected, unit: &str, written: &str) {
    say!("{}", rejected.into_error().in_flags());
    say!("stopped at the first bad {unit} ({written}); use --on-error reject to skip bad {unit}s");
}

/// The rejected lines. Their file appears only if there are any.
pub(crate) struct Rejects {
    /// What a line is called.
    unit: &'static str,
    path: PathBuf,
    output: Output,
    pub(crate) count: u64,
}

impl Rejects {
    /// Of a run with this output. If the run is interrupted, they are kept where what was written before them is.
    pub(crate) fn open(path: PathBuf, unit: &'static str, beside: &Output) -> Result<Self> {
        let output = Output::open(Some(&path))?;
        if beside.keeps_its_beginning() {
            output.keep_if_interrupted();
        }
        Ok(Self { unit, path, output, count: 0 })
    }

    pub(crate) fn add(&mut self, rejected: Rejected, progress: &ProgressBar) -> Result<()> {
        self.count += 1;
        let json = rejected.json_with(&flag);
        if self.count <= SHOWN_ERRORS {
            progress.suspend(|| say!("{}", rejected.into_error().in_flags()));
        }
        self.output.write(&json).at(self.path.display())
    }

    /// Adds the lines of the last batch that is written, of which some results are perhaps read.
    pub(crate) fn add_all(&mut self, rejected: Vec<Rejected>, progress: &ProgressBar) -> Result<()> {
        rejected.into_iter().try_for_each(|line| self.add(line, progress))
    }

    pub(crate) fn finish(self, is_quiet: bool) -> Result<()> {
        if self.count == 0 {
            if !is_quiet && self.path.is_file() {
                say!("note: {} is of an earlier run: no {} was rejected", self.path.display(), self.unit);
            }
            return Ok(());
        }
        let more = match self.count.saturating_sub(SHOWN_ERRORS) {
            0 => String::new(),
            more => format!(" ({more} of them not shown)"),
        };
        say!("{} rejected{more}, see {}", counted(self.count, self.unit), self.path.display());
        self.output.finish()
    }
}
