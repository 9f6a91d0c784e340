//! Lines that are not valid prompts: saved to a file, with the reason.

use std::path::PathBuf;

use crate::args::BuildArgs;
use crate::output::{Output, becomes_a_file, count};
use crate::say::{InFlags, flag, say};
use metatok::build::Rejected;
use metatok::error::{At, Result};

/// How many errors are printed if rows are rejected. The rejects file has all of them.
const SHOWN_ERRORS: u64 = 10;

pub(crate) fn rejects_path(args: &BuildArgs) -> PathBuf {
    match (&args.rejects, &args.output) {
        (Some(rejects), _) => rejects.clone(),
        (None, Some(output)) if becomes_a_file(output) => {
            let mut name = output.clone().into_os_string();
            name.push(".rejects.jsonl");
            name.into()
        }
        _ => PathBuf::from("rejects.jsonl"),
    }
}

/// The rejected rows. Their file appears only if there are any.
pub(crate) struct Rejects {
    path: PathBuf,
    output: Output,
    pub(crate) count: u64,
}

impl Rejects {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let output = Output::open(Some(&path))?;
        Ok(Self { path, output, count: 0 })
    }

    pub(crate) fn add(&mut self, rejected: Rejected, progress: &indicatif::ProgressBar) -> Result<()> {
        self.count += 1;
        let json = rejected.json_with(&flag);
        if self.count <= SHOWN_ERRORS {
            progress.suspend(|| say!("{}", rejected.into_error().in_flags()));
        }
        self.output.write(&json).at(self.path.display())
    }

    pub(crate) fn finish(self, is_quiet: bool) -> Result<()> {
        if self.count == 0 {
            if !is_quiet && self.path.is_file() {
                say!("note: {} is of an earlier run: no row was rejected", self.path.display());
            }
            return Ok(());
        }
        let more = match self.count.saturating_sub(SHOWN_ERRORS) {
            0 => String::new(),
            more => format!(" ({more} of them not shown)"),
        };
        say!("{} rejected{more}, see {}", count(self.count, "row"), self.path.display());
        self.output.finish()
    }
}
