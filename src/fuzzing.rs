//! Non-public functions that the fuzz targets need. Only `cargo fuzz` builds it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;

use crate::dataset::{CsvOptions, Holds, RawRecord, Records, open};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::run::{ResumeOptions, RunAnswers};

/// The records of a file with this name.
///
/// # Errors
/// Errors of reading the file. Errors of single records are left out.
pub fn records(name: &str, bytes: &[u8], holds_rows: bool) -> Result<Vec<String>> {
    const LONGEST: usize = 1 << 16;
    let source = open(Path::new(name), file(bytes)?, &CsvOptions::default())?;
    let holds = if holds_rows { Holds::Rows } else { Holds::Conversations };
    let mut records = Records::of(source, "line", LONGEST, holds);
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    while let Some(record) = records.next_into(&mut bytes)? {
        let json = record.raw(&bytes, LONGEST).and_then(RawRecord::json);
        all.extend(json.ok().map(Cow::into_owned));
        bytes.clear();
    }
    Ok(all)
}

fn file(bytes: &[u8]) -> Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Writes answers to a journal as a run does, two rows side by side, and stops after this many; then returns all in order.
///
/// # Errors
/// Errors of the journal.
pub fn run(journal: &Path, answers: &[&str], stop_after: usize, resume: bool) -> Result<Option<String>> {
    let fingerprint = Fingerprint {
        metatok: String::new(),
        template: String::new(),
        tokenizer: String::new(),
        options: Default::default(),
    };
    let mut kept = RunAnswers::journaled(journal, ResumeOptions { resume, retry_errors: false }, &fingerprint)?;
    let done = usize::try_from(kept.rows()).unwrap_or(usize::MAX).min(answers.len());
    for row in done..stop_after {
        kept.add((row as u64, 0), answers[row].to_owned())?;
        let is_last = row % 2 == 1 || row + 1 == answers.len();
        if is_last {
            let _ = kept.done(row as u64 + 1, |_| Ok(ControlFlow::Continue(())))?;
        }
    }
    if stop_after < answers.len() {
        return Ok(None);
    }
    let mut all = String::new();
    kept.each(|json| {
        all.extend([json, "\n"]);
        Ok(())
    })?;
    kept.remove()?;
    Ok(Some(all))
}
