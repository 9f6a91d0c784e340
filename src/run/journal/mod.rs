//! The journal of a run: its answers in the order in which they were completed, in a file in which any damage is
//! detected.

mod found;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{At, Error, ErrorKind, Result};
use crate::run::chain::{Chain, Line, Lines};
pub(crate) use found::{Counts, FoundJournal};

/// Which answer it is: its row, and which of the row's answers.
pub(crate) type AnswerPlace = (u64, u64);

/// A line after the first, which is the fingerprint.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry<'a> {
    Answer {
        place: AnswerPlace,
        /// Whether it is an error instead of an answer.
        is_refused: bool,
        #[serde(borrow)]
        json: &'a RawValue,
    },
    /// This many rows are answered.
    Rows(u64),
    /// The rows from this one on are open again: those with errors are asked once more.
    Reopened(u64),
}

/// The kept answers, and how far they go.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    chain: Chain,
    /// Where the next line goes, in bytes.
    end: u64,
    /// How many rows are answered for good.
    pub(crate) rows: u64,
    /// The answers of the rows after these, which come out of order.
    known: Known,
}

/// Where answers are in the file.
type Known = BTreeMap<AnswerPlace, KnownLine>;

#[derive(Debug, Clone, Copy)]
struct KnownLine {
    start: u64,
    is_refused: bool,
}

/// An answer that the journal has already.
#[derive(Debug)]
pub(crate) struct KnownAnswer {
    pub(crate) json: String,
    /// Whether it is an error instead of an answer.
    pub(crate) is_refused: bool,
}

impl Journal {
    fn of(file: File, path: PathBuf) -> Self {
        Self { file, path, chain: Chain::default(), end: 0, rows: 0, known: Known::new() }
    }

    /// Adds an answer, or an error instead of one. Returns false if there already was one. Only an error is replaced, by an
    /// answer or another error.
    pub(crate) fn add(&mut self, place: AnswerPlace, json: &RawValue, is_refused: bool) -> Result<bool> {
        let known = self.known(place)?;
        let is_kept = |known: &KnownAnswer| !known.is_refused || is_refused && known.json == json.get();
        if known.as_ref().is_some_and(is_kept) {
            return Ok(false);
        }
        self.known.insert(place, KnownLine { start: self.end, is_refused });
        self.write_entry(&Entry::Answer { place, is_refused, json })?;
        Ok(known.is_none() || !is_refused)
    }

    /// A recorded answer of a row that is not done.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub(crate) fn known(&self, place: AnswerPlace) -> Result<Option<KnownAnswer>> {
        let Some(KnownLine { start, is_refused }) = self.known.get(&place) else { return Ok(None) };
        let json = answer_at(&mut BufReader::new(&self.file), *start).at(self.path.display())?;
        Ok(Some(KnownAnswer { json, is_refused: *is_refused }))
    }

    /// How many answers there are of a row that is not done.
    pub(crate) fn count(&self, row: u64) -> usize {
        self.of_row(row).count()
    }

    /// Whether a row that is not done has an error instead of an answer.
    pub(crate) fn is_refused(&self, row: u64) -> bool {
        self.of_row(row).any(|line| line.is_refused)
    }

    fn of_row(&self, row: u64) -> impl Iterator<Item = &KnownLine> {
        self.known.range((row, 0)..=(row, u64::MAX)).map(|(_, line)| line)
    }

    /// Records that this many rows are answered.
    pub(crate) fn done(&mut self, rows: u64) -> Result<()> {
        if rows > self.rows {
            self.write_entry(&Entry::Rows(rows))?;
            self.rows = rows;
            self.forget();
        }
        Ok(())
    }

    /// Forgets the answers of rows that are done.
    fn forget(&mut self) {
        self.known = self.known.split_off(&(self.rows, 0));
    }

    fn write_entry(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.write(&serde_json::to_string(entry).map_err(|error| ErrorKind::Parse(error.to_string()))?)
    }

    /// A line is written at once, so that it survives any end of the program.
    fn write(&mut self, line: &str) -> Result<()> {
        let line = self.chain.link(line);
        // What was read in between moved the place.
        self.file.seek(SeekFrom::Start(self.end)).at(self.path.display())?;
        self.file.write_all(line.as_bytes()).at(self.path.display())?;
        self.end += line.len() as u64;
        Ok(())
    }

    /// Returns the answers in the order of their rows.
    ///
    /// # Errors
    /// If the file is not what was written to it, with the place.
    pub(crate) fn each(&self, mut take: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let mut lines = self.file.try_clone().and_then(Lines::of).at(self.path.display())?;
        let mut answers: Vec<(AnswerPlace, u64)> = Vec::new();
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
                Some(Entry::Answer { place, .. }) => answers.push((place, start)),
                Some(Entry::Rows(_) | Entry::Reopened(_)) => {}
                None => return Err(damaged(&self.path, start)),
            }
        }
        if lines.chain.checksum() != self.chain.checksum() {
            return Err(damaged(&self.path, lines.end));
        }
        // Of an error and the answer that took its place, the answer was written later.
        answers.sort_unstable();
        let mut file = BufReader::new(&self.file);
        let mut answers = answers.into_iter().peekable();
        while let Some((place, start)) = answers.next() {
            if answers.peek().is_none_or(|(next, _)| *next != place) {
                take(&answer_at(&mut file, start).at(self.path.display())?)?;
            }
        }
        Ok(())
    }

    /// Removes the file, when its contents are stored elsewhere.
    pub(crate) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).at(self.path.display())
    }
}

/// The answer in the line that begins there, as JSON.
fn answer_at(file: &mut BufReader<&File>, start: u64) -> Result<String> {
    // Nearly always the next line, which is read already.
    let here = file.stream_position()?;
    file.seek_relative(start.cast_signed() - here.cast_signed())?;
    let mut line = String::new();
    file.read_line(&mut line)?;
    let entry = line.rsplit_once('\t').and_then(|(entry, _)| serde_json::from_str(entry).ok());
    match entry {
        Some(Entry::Answer { json, .. }) => Ok(json.get().to_owned()),
        _ => Err(ErrorKind::Invalid(format!("the line at byte {start} is not an answer")).into()),
    }
}

/// A path as a word of a shell's command.
fn for_shell(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if path.chars().all(is_plain) && !path.starts_with('-') {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// What is wrong with a line, and what to do about it.
fn damaged(path: &Path, byte: u64) -> Error {
    let keep = match byte {
        0 => String::new(),
        _ => format!("`truncate -s {byte} {}` keeps everything before it, or ", for_shell(path)),
    };
    let what = format!("the line at byte {byte} is not the line that was written there");
    ErrorKind::Invalid(what).with_way_out(format!("{keep}remove the file to start over")).at(path.display())
}
