//! The journal of a run: its answers in the order in which they were completed, in a file in which any damage is detected.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use same_file::Handle;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{At, Error, ErrorKind, Result, Setting, way_out};
use crate::fingerprint::Fingerprint;
use crate::run::chain::{Chain, Line, Lines};

/// The beginning of a journal.
const BEGINNING: &[u8] = b"{\"metatok\":";

/// Which answer it is: its row, and which of the row's answers.
pub(crate) type Place = (u64, u64);

/// A line after the first, which is the fingerprint.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry<'a> {
    Answer {
        place: Place,
        /// Whether it is an error instead of an answer.
        is_refused: bool,
        #[serde(borrow)]
        json: &'a RawValue,
    },
    /// This many rows are answered.
    Rows(u64),
}

/// The kept answers, and how far they go.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    chain: Chain,
    /// This many rows are answered, and will not be answered again.
    pub(crate) rows: u64,
    /// The answers of later rows. These rows are answered again, side by side with the same rows as before, because
    /// other rows would change the rounding.
    known: HashSet<Place>,
}

/// The contents of a journal when it is opened.
pub(crate) struct Found {
    journal: Journal,
    fingerprint: Option<Fingerprint>,
    /// Where its last whole line ends.
    end: u64,
    pub(crate) answers: u64,
    /// How many of them are errors instead of answers.
    pub(crate) refused: u64,
}

impl Found {
    /// Adds the next line, unless it is not a line of a journal, or the answer is already there.
    fn take(&mut self, line: &str) -> bool {
        if self.fingerprint.is_none() {
            self.fingerprint = serde_json::from_str(line).ok();
            return self.fingerprint.is_some();
        }
        let Journal { rows, known, .. } = &mut self.journal;
        match serde_json::from_str(line) {
            Ok(Entry::Answer { place, is_refused, .. }) => {
                self.answers += 1;
                self.refused += u64::from(is_refused);
                place.0 >= *rows && known.insert(place)
            }
            Ok(Entry::Rows(done)) => {
                known.clear();
                done > std::mem::replace(rows, done)
            }
            Err(_) => false,
        }
    }

    /// The settings of the answers that differ from the current ones.
    pub(crate) fn differences(&self, here: &Fingerprint) -> Vec<String> {
        let there = self.fingerprint.iter();
        there.flat_map(|there| there.differences(here)).map(|difference| difference.to_string()).collect()
    }

    /// Continues after the last whole line.
    pub(crate) fn resume(self) -> Result<Journal> {
        let Self { mut journal, end, .. } = self;
        journal.file.set_len(end).at(journal.path.display())?;
        journal.file.seek(SeekFrom::Start(end)).at(journal.path.display())?;
        Ok(journal)
    }

    /// Starts over.
    pub(crate) fn begin(self, fingerprint: &Fingerprint) -> Result<Journal> {
        let Journal { file, path, .. } = self.journal;
        let mut journal = Self { journal: Journal::of(file, path), end: 0, ..self }.resume()?;
        journal.write(&fingerprint.to_json())?;
        Ok(journal)
    }
}

impl Journal {
    fn of(file: File, path: PathBuf) -> Self {
        Self { file, path, chain: Chain::default(), rows: 0, known: HashSet::new() }
    }

    /// Opens a journal exclusively for this run, and reads all of it.
    ///
    /// # Errors
    /// If another run has it, if the file is not a journal, or with the damaged line.
    pub(crate) fn open(path: &Path) -> Result<Found> {
        let file = locked(path).at(path.display())?;
        let mut lines = file.try_clone().and_then(Lines::of).at(path.display())?;
        let ahead = lines.ahead().at(path.display())?;
        if !ahead.starts_with(&BEGINNING[..BEGINNING.len().min(ahead.len())]) {
            let what = ErrorKind::Usage("the file exists, but is not the journal of a run; move it away".into());
            return Err(what).at(path.display());
        }
        let journal = Self::of(file, path.into());
        let mut found = Found { journal, fingerprint: None, end: 0, answers: 0, refused: 0 };
        loop {
            let start = lines.end;
            match lines.next().at(path.display())? {
                Line::End => break,
                Line::Whole(line) if found.take(line) => {}
                Line::Whole(_) | Line::Damaged => return Err(damaged(path, start)),
            }
        }
        (found.end, found.journal.chain) = (lines.end, lines.chain);
        Ok(found)
    }

    /// Adds an answer, or an error instead of one. False if it is already there.
    pub(crate) fn add(&mut self, place: Place, json: &RawValue, is_refused: bool) -> Result<bool> {
        let is_new = self.known.insert(place);
        if is_new {
            self.write_entry(&Entry::Answer { place, is_refused, json })?;
        }
        Ok(is_new)
    }

    /// Records that this many rows are answered.
    pub(crate) fn done(&mut self, rows: u64) -> Result<()> {
        self.write_entry(&Entry::Rows(rows))?;
        self.rows = rows;
        self.known.clear();
        Ok(())
    }

    fn write_entry(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.write(&serde_json::to_string(entry).map_err(|error| ErrorKind::Parse(error.to_string()))?)
    }

    /// A line is written at once, so that it survives any end of the program.
    fn write(&mut self, line: &str) -> Result<()> {
        let line = self.chain.link(line);
        self.file.write_all(line.as_bytes()).at(self.path.display())
    }

    /// Returns the answers in the order of their rows.
    ///
    /// # Errors
    /// If the file is not what was written to it, with the place.
    pub(crate) fn each(&self, mut take: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let mut lines = self.file.try_clone().and_then(Lines::of).at(self.path.display())?;
        let mut answers: Vec<(Place, String)> = Vec::new();
        loop {
            let start = lines.end;
            let entry = match lines.next().at(self.path.display())? {
                Line::End => break,
                // The fingerprint.
                Line::Whole(_) if start == 0 => continue,
                Line::Whole(line) => serde_json::from_str(line).ok(),
                Line::Damaged => None,
            };
            match entry {
                Some(Entry::Answer { place, json, .. }) => answers.push((place, json.get().into())),
                Some(Entry::Rows(_)) => {
                    answers.sort_unstable_by_key(|(place, _)| *place);
                    answers.drain(..).try_for_each(|(_, json)| take(&json))?;
                }
                None => return Err(damaged(&self.path, start)),
            }
        }
        let is_whole = lines.chain.checksum() == self.chain.checksum();
        if is_whole { Ok(()) } else { Err(damaged(&self.path, lines.end)) }
    }

    /// Removes the file, when its contents are stored elsewhere.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).at(self.path.display())
    }
}

/// What is wrong with a line, and what to do about it.
fn damaged(path: &Path, byte: u64) -> Error {
    let path = path.display();
    let keep =
        if byte == 0 { String::new() } else { format!("`truncate -s {byte} {path}` keeps everything before it, or ") };
    let what = format!("the line at byte {byte} is not the line that was written there");
    ErrorKind::Invalid(what).with_way_out(format!("{keep}remove the file to start over")).at(path)
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
    use super::*;

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
            let found = Journal::open(&path).map(|found| found.answers).map_err(|error| error.to_string());
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
