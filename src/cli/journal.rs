//! Where a run's answers go: to standard output as they come, or into a file, which a run that was cut off leaves half
//! done beside it, to be resumed.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use same_file::Handle;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::output::{Output, count};
use crate::cli::setup::from_json;
use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::Fingerprint;

/// How a journal begins.
const JOURNAL: &str = "{\"metatok\":";

/// Which answer it is: its row, and which of the row's.
pub(crate) type Place = (u64, u64);

/// The answers of a run.
pub(crate) struct Answers {
    to: To,
    /// How many rows have an error in place of an answer.
    refused: u64,
}

enum To {
    /// Those of the rows that are answered together wait until all are.
    Stream(Output, Vec<(Place, Vec<u8>)>),
    File(Journal),
}

/// The answers so far, in the order in which they were complete, in a file beside the one that will have them all.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    output: PathBuf,
    /// So many rows are answered, and will not be again.
    rows: u64,
    /// Those that are in the file of the rows behind. They are answered again, side by side with the same rows as
    /// before: other company would round otherwise.
    known: HashSet<Place>,
}

/// A line of a journal behind the first, which is the fingerprint: an answer, or that so many rows are done.
#[derive(Default, Serialize, Deserialize)]
struct Entry<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    answer: Option<&'a RawValue>,
    /// Whether it is an error in place of an answer.
    #[serde(default, skip_serializing_if = "is_false")]
    is_refused: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(is_so: &bool) -> bool {
    !is_so
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
        let (journal, refused) = Journal::open(&path, file, resume, &fingerprint()?).at(path.display())?;
        Ok(Some(Self { to: To::File(journal), refused }))
    }

    /// How many rows are answered already.
    pub(crate) fn rows(&self) -> u64 {
        match &self.to {
            To::Stream(..) => 0,
            To::File(journal) => journal.rows,
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
        match &mut self.to {
            To::Stream(_, answers) => answers.push((place, format!("{json}\n").into_bytes())),
            To::File(journal) if journal.known.contains(&place) => return Ok(()),
            To::File(journal) => {
                journal.write(&Entry { place: Some(place), answer: Some(from_json(json)?), is_refused, rows: None })?;
            }
        }
        self.refused += u64::from(is_refused);
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
            To::File(journal) => {
                journal.write(&Entry { rows: Some(rows), ..Entry::default() })?;
                journal.known.clear();
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// All rows are answered; gives how many have an error in place of an answer.
    pub(crate) fn finish(self) -> Result<u64> {
        match self.to {
            To::Stream(output, _) => output.finish()?,
            To::File(journal) => journal.finish()?,
        }
        Ok(self.refused)
    }
}

impl Journal {
    /// Begins a journal, or goes on with one; gives how many rows it has an error for too.
    fn open(path: &Path, output: &Path, resume: bool, fingerprint: &Fingerprint) -> Result<(Self, u64)> {
        let file = locked(path)?;
        let mut reader = BufReader::new(file);
        let (mut rows, mut refused, mut answers, mut end) = (0, 0, 0, 0);
        let mut known = HashSet::new();
        let mut differ = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            let read = read_line(&mut reader, &mut line)?;
            // A line without an end is one that was being written.
            if !line.ends_with('\n') {
                let begin = &JOURNAL[..JOURNAL.len().min(line.len())];
                if end == 0 && !line.starts_with(begin) {
                    return Err(ErrorKind::Usage("it is here, and no journal of a run; move it away".into()).into());
                }
                break;
            }
            if end == 0 {
                let then: Fingerprint = from_json(&line).at("line 1")?;
                differ = then.differences(fingerprint).iter().map(ToString::to_string).collect();
            } else {
                let entry: Entry<'_> = from_json(&line).at(format_args!("the line at byte {end}"))?;
                known.extend(entry.place);
                answers += u64::from(entry.place.is_some());
                refused += u64::from(entry.is_refused);
                if let Some(done) = entry.rows {
                    rows = done;
                    known.clear();
                }
            }
            end += read;
        }
        let what = match (resume, differ.is_empty()) {
            // There is nothing to lose.
            _ if answers == 0 => {
                end = 0;
                None
            }
            (true, true) => None,
            (true, false) => {
                Some(format!("the answers in it were made with {}; remove it to start again", differ.join(", ")))
            }
            (false, _) => Some(format!(
                "it has {} of a run that was cut off: --resume goes on from there; remove it to start again",
                count(answers, "answer")
            )),
        };
        if let Some(what) = what {
            return Err(ErrorKind::Usage(what).into());
        }
        let mut file = reader.into_inner();
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        if end == 0 {
            writeln!(file, "{}", fingerprint.to_json())?;
        }
        Ok((
            Self { file, path: path.into(), output: output.into(), rows: if end == 0 { 0 } else { rows }, known },
            refused,
        ))
    }

    /// A line is written at once, so that no end of the program can take it away.
    fn write(&mut self, entry: &Entry<'_>) -> Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(|error| ErrorKind::Parse(error.to_string()))?;
        line.push(b'\n');
        self.file.write_all(&line).at(self.path.display())
    }

    /// Brings the answers into the order of their rows.
    fn finish(self) -> Result<()> {
        let mut output = Output::open(Some(&self.output))?;
        let mut reader = BufReader::new(File::open(&self.path).at(self.path.display())?);
        let (mut line, mut answers) = (String::new(), Vec::new());
        reader.read_line(&mut line).at(self.path.display())?;
        loop {
            line.clear();
            if reader.read_line(&mut line).at(self.path.display())? == 0 {
                break;
            }
            let entry: Entry<'_> = from_json(&line).at(self.path.display())?;
            if let (Some(place), Some(answer)) = (entry.place, entry.answer) {
                answers.push((place, format!("{answer}\n")));
            }
            if entry.rows.is_some() {
                answers.sort_by_key(|(place, _)| *place);
                for (_, answer) in answers.drain(..) {
                    output.write(answer.as_bytes()).map_err(|error| output.failed(error))?;
                }
            }
        }
        output.finish()?;
        fs::remove_file(&self.path).at(self.path.display())
    }
}

/// Opens a journal for this run alone.
fn locked(path: &Path) -> Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let what = "another run is writing it; wait until that is done, or name another --output";
                return Err(ErrorKind::Usage(what.into()).into());
            }
            // Not every file system knows locks.
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

/// Reads a line, none if it ends in the midst of a character; gives the number of bytes.
fn read_line(reader: &mut impl BufRead, line: &mut String) -> Result<u64> {
    let mut bytes = Vec::new();
    let read = reader.read_until(b'\n', &mut bytes)? as u64;
    if let Ok(text) = String::from_utf8(bytes) {
        line.push_str(&text);
    }
    Ok(read)
}
