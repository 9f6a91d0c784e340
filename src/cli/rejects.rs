//! Lines that give no prompt: kept in a file, with the reason.

use std::path::{Path, PathBuf};

use crate::cli::args::BuildArgs;
use crate::cli::batches::Batch;
use crate::cli::output::{Output, count};
use crate::cli::say::{InFlags, say};
use crate::dataset::Line;
use crate::error::{At, Error, Result};

/// How many errors are shown where rows are rejected; the rejects file has them all.
const SHOWN_ERRORS: u64 = 10;

/// A line that gives no prompt.
pub(crate) struct Rejected {
    pub(crate) error: Error,
    /// What the rejects file says of it.
    pub(crate) json: Vec<u8>,
}

/// A line of the rejects file: where the row stands, why it gave no prompt, and the row itself, as
/// text or, where it is none, as bytes. A row that was too long to keep is found by its offset.
pub(crate) fn reject(batch: &Batch, line: &Line, bytes: &[u8], error: &Error) -> Vec<u8> {
    let mut object = serde_json::json!({
        "file": &*batch.input, line.unit: line.number, "error": error.in_flags(),
    });
    if line.unit != "row" {
        object["offset"] = line.offset.into();
        object["length"] = line.length.into();
    }
    if !line.is_too_long {
        match std::str::from_utf8(bytes) {
            Ok(text) => object["text"] = text.into(),
            Err(_) => object["bytes"] = bytes.into(),
        }
    }
    format!("{object}\n").into_bytes()
}

pub(crate) fn rejects_path(args: &BuildArgs) -> PathBuf {
    match (&args.rejects, &args.output) {
        (Some(rejects), _) => rejects.clone(),
        (None, Some(output)) if output.metadata().map_or(true, |metadata| metadata.is_file()) => {
            let mut name = output.clone().into_os_string();
            name.push(".rejects.jsonl");
            name.into()
        }
        _ => PathBuf::from("rejects.jsonl"),
    }
}

/// The rejected rows. The file is made only when there is one.
pub(crate) struct Rejects {
    path: PathBuf,
    output: Option<Output>,
    pub(crate) count: u64,
}

impl Rejects {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, output: None, count: 0 }
    }

    pub(crate) fn add(&mut self, rejected: Rejected, progress: &indicatif::ProgressBar) -> Result<()> {
        self.count += 1;
        if self.count <= SHOWN_ERRORS {
            progress.suspend(|| say!("{}", rejected.error.in_flags()));
        }
        let output = match &mut self.output {
            Some(output) => output,
            None => self.output.insert(Output::open(Some(Path::new(&self.path)))?),
        };
        output.write(&rejected.json).at(self.path.display())
    }

    pub(crate) fn finish(self) -> Result<()> {
        let more = match self.count.saturating_sub(SHOWN_ERRORS) {
            0 => String::new(),
            more => format!(" ({more} of them not shown)"),
        };
        say!("{} rejected{more}, see {}", count(self.count, "row"), self.path.display());
        self.output.map_or(Ok(()), Output::finish)
    }
}
