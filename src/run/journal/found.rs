//! A journal as it is found when a run begins: checked line by line, and continued or begun anew.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use same_file::Handle;

use crate::error::{At, ErrorKind, Result, Setting, way_out};
use crate::fingerprint::Fingerprint;
use crate::run::chain::{Line, Lines};
use crate::run::journal::{Entry, Journal, KnownLine, damaged};

/// The beginning of a journal.
const BEGINNING: &[u8] = b"{\"metatok\":";

/// How many answers there are, and how many errors instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) answers: u64,
    pub(crate) refused: u64,
    /// How many rows have an error.
    pub(crate) refused_rows: u64,
}

/// The contents of a journal when it is opened.
pub(crate) struct FoundJournal {
    /// It knows all answers.
    journal: Journal,
    fingerprint: Option<Fingerprint>,
}

impl FoundJournal {
    /// Opens a journal exclusively for this run, and reads all of it.
    ///
    /// # Errors
    /// If another run has it, if the file is not a journal, or with the damaged line.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = locked(path).at(path.display())?;
        let mut lines = file.try_clone().and_then(Lines::of).at(path.display())?;
        let ahead = lines.ahead().at(path.display())?;
        if !ahead.starts_with(&BEGINNING[..BEGINNING.len().min(ahead.len())]) {
            let what = ErrorKind::Usage("the file exists, but is not the journal of a run; move it away".into());
            return Err(what).at(path.display());
        }
        let journal = Journal::of(file, path.into());
        let mut found = Self { journal, fingerprint: None };
        loop {
            let start = lines.end;
            match lines.next().at(path.display())? {
                Line::End => break,
                Line::Whole(line) if found.take(line, start) => {}
                Line::Whole(_) | Line::Damaged => return Err(damaged(path, start)),
            }
        }
        (found.journal.end, found.journal.chain) = (lines.end, lines.chain);
        Ok(found)
    }

    /// Takes the line that begins there. Rejects a line that no journal has, and a second answer.
    fn take(&mut self, line: &str, start: u64) -> bool {
        if self.fingerprint.is_none() {
            self.fingerprint = serde_json::from_str(line).ok();
            return self.fingerprint.is_some();
        }
        let Journal { rows, known, .. } = &mut self.journal;
        match serde_json::from_str(line) {
            Ok(Entry::Answer { place, is_refused, .. }) => {
                let before = known.insert(place, KnownLine { start, is_refused });
                place.0 >= *rows && before.is_none_or(|before| before.is_refused)
            }
            Ok(Entry::Rows(done)) => done > std::mem::replace(rows, done),
            Ok(Entry::Reopened(first)) => first < std::mem::replace(rows, first),
            Err(_) => false,
        }
    }

    /// How many answers and errors it has.
    pub(crate) fn counts(&self) -> Counts {
        let known = &self.journal.known;
        let mut rows: Vec<u64> = known.iter().filter(|(_, line)| line.is_refused).map(|((row, _), _)| *row).collect();
        let refused = rows.len();
        rows.dedup();
        Counts { answers: (known.len() - refused) as u64, refused: refused as u64, refused_rows: rows.len() as u64 }
    }

    /// How the fingerprint of the answers differs from this one.
    pub(crate) fn differences(&self, here: &Fingerprint) -> Vec<String> {
        let there = self.fingerprint.iter();
        there.flat_map(|there| there.differences(here)).map(|difference| difference.to_string()).collect()
    }

    /// Continues after the last complete line. With `retry_errors`, rows are reopened from the first that has an error
    /// instead of an answer.
    pub(crate) fn resume(self, retry_errors: bool) -> Result<Journal> {
        let Self { mut journal, .. } = self;
        journal.file.set_len(journal.end).at(journal.path.display())?;
        let failed = journal.known.iter().find(|(_, line)| line.is_refused).map(|((row, _), _)| *row);
        if let Some(first) = failed.filter(|first| retry_errors && *first < journal.rows) {
            journal.rows = first;
            journal.write_entry(&Entry::Reopened(first))?;
        }
        journal.forget();
        Ok(journal)
    }

    /// Starts over.
    pub(crate) fn begin(self, fingerprint: &Fingerprint) -> Result<Journal> {
        let Journal { file, path, .. } = self.journal;
        let mut journal = Self { journal: Journal::of(file, path), ..self }.resume(false)?;
        journal.write(fingerprint.to_json().get())?;
        Ok(journal)
    }
}

/// Opens a journal exclusively for this run.
fn locked(path: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let way_out = way_out!["wait until that is done, or choose another ", Setting::OUTPUT];
                return Err(ErrorKind::Usage("another run is writing it".into()).with_way_out(way_out));
            }
            // Not every file system supports locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Ok(()) => {}
        }
        // The run that had it may have removed it when it was done.
        if Handle::from_path(path).ok() == Some(Handle::from_file(file.try_clone()?)?) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::chain::Chain;

    /// Lines of good checksums, of which not all can have been written by a run.
    #[test]
    fn an_answer_is_there_once() {
        let answer = |row: u64| format!(r#"{{"answer":{{"place":[{row},1],"is_refused":false,"json":{{}}}}}}"#);
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("journal");
        for (lines, damaged_line) in [
            (vec![answer(1), answer(0), r#"{"rows":2}"#.into(), answer(2)], None),
            (vec![answer(0), answer(0)], Some(2)),
            (vec![answer(0), r#"{"rows":1}"#.into(), answer(0)], Some(3)),
            (vec![answer(0), r#"{"rows":1}"#.into(), r#"{"rows":1}"#.into()], Some(3)),
            (vec![answer(0), "{}".into()], Some(2)),
        ] {
            let mut chain = Chain::default();
            let first = r#"{"metatok":"0","template":"t","tokenizer":"t"}"#.to_owned();
            let text: Vec<String> = std::iter::once(first).chain(lines).map(|line| chain.link(&line)).collect();
            fs::write(&path, text.concat()).expect("written");
            let found =
                FoundJournal::open(&path).map(|found| found.counts().answers).map_err(|error| error.to_string());
            match damaged_line {
                None => assert_eq!(found, Ok(3)),
                Some(line) => {
                    let byte = text[..line].concat().len();
                    let what = format!("the line at byte {byte} is not the line that was written there");
                    assert!(found.as_ref().is_err_and(|error| error.contains(&what)), "{found:?}");
                }
            }
        }
    }
}
