//! Where a run's answers go: to standard output as they come, or into a file, which a run that was cut off leaves half
//! done beside it, to be resumed.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::output::{Output, count};
use crate::cli::setup::from_json;
use crate::error::{At, ErrorKind, Result};
use crate::fingerprint::Fingerprint;

/// Which answer it is: its row, and which of the row's.
pub(crate) type Place = (u64, u64);

/// The answers of a run.
pub(crate) enum Answers {
    /// Those of the rows that are answered together, until all are.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

impl Answers {
    /// Opens the output, or the journal beside it. Nothing, if there is nothing to resume because all is there.
    pub(crate) fn open(output: Option<&Path>, resume: bool, fingerprint: &Fingerprint) -> Result<Option<Self>> {
        let file = output.filter(|path| path.metadata().map_or(true, |metadata| metadata.is_file()));
        let Some(output) = file else {
            if resume {
                let what = "--resume is for answers in a file; name it with --output";
                return Err(ErrorKind::Usage(what.into()).into());
            }
            return Ok(Some(Self::Stream(Output::open(output)?, Vec::new())));
        };
        let mut path = output.as_os_str().to_owned();
        path.push(".partial");
        let path = PathBuf::from(path);
        if resume && !path.exists() && output.exists() {
            return Ok(None);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match options.open(&path) {
            Ok(file) if resume => Journal::resume(file, &path, output, fingerprint).map(Some),
            Ok(file) => {
                let answers = BufReader::new(file).lines().map_while(io::Result::ok).filter(|line| is_answer(line));
                let what = format!(
                    "it has {} of a run that was cut off: --resume goes on from there; remove it to begin anew",
                    count(answers.count() as u64, "answer")
                );
                Err(ErrorKind::Usage(what).into())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut create = || {
                    let mut file = options.create_new(true).open(&path)?;
                    writeln!(file, "{}", fingerprint.to_json())?;
                    Ok(file)
                };
                let journal =
                    |file| Journal { file, path: path.clone(), output: output.into(), rows: 0, known: HashSet::new() };
                create().map(|file| Some(Self::File(journal(file))))
            }
            Err(error) => Err(error.into()),
        }
        .at(path.display())
    }

    /// How many rows are answered already.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Stream(..) => 0,
            Self::File(journal) => journal.rows,
        }
    }

    /// An answer is complete.
    pub(crate) fn add(&mut self, place: Place, json: Vec<u8>) -> Result<()> {
        match self {
            Self::Stream(_, answers) => answers.push((place, json)),
            Self::File(journal) if journal.known.contains(&place) => {}
            Self::File(journal) => {
                let json = std::str::from_utf8(&json).map_err(|error| ErrorKind::Parse(error.to_string()))?;
                journal.write(&Entry { place: Some(place), answer: Some(from_json(json)?), rows: None })?;
            }
        }
        Ok(())
    }

    /// So many rows are answered. Breaks off where nobody reads any more.
    pub(crate) fn done(&mut self, rows: u64) -> Result<ControlFlow<()>> {
        match self {
            Self::Stream(output, answers) => {
                answers.sort_by_key(|(place, _)| *place);
                for (_, mut json) in answers.drain(..) {
                    json.push(b'\n');
                    if output.stream(&json)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Self::File(journal) => {
                journal.write(&Entry { rows: Some(rows), ..Entry::default() })?;
                journal.known.clear();
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// All rows are answered.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Stream(output, _) => output.finish(),
            Self::File(journal) => journal.finish(),
        }
    }
}

fn is_answer(line: &str) -> bool {
    serde_json::from_str(line).is_ok_and(|entry: Entry<'_>| entry.answer.is_some())
}

impl Journal {
    fn resume(file: File, path: &Path, output: &Path, fingerprint: &Fingerprint) -> Result<Answers> {
        let (mut rows, mut known, mut end) = (0, HashSet::new(), 0);
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        loop {
            line.clear();
            // A line without an end is one that was being written, even in the midst of a character.
            let read = read_line(&mut reader, &mut line)?;
            if !line.ends_with('\n') {
                break;
            }
            if end == 0 {
                let then: Fingerprint = from_json(&line).at("line 1")?;
                let differ: Vec<String> = then.differences(fingerprint).iter().map(ToString::to_string).collect();
                if !differ.is_empty() {
                    let what =
                        format!("the answers in it were made with {}; remove it to begin anew", differ.join(", "));
                    return Err(ErrorKind::Usage(what).into());
                }
            } else {
                let entry: Entry<'_> = from_json(&line).at(format_args!("the line at byte {end}"))?;
                known.extend(entry.place);
                if let Some(done) = entry.rows {
                    rows = done;
                    known.clear();
                }
            }
            end += read;
        }
        let mut file = reader.into_inner();
        file.set_len(end)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(end))?;
        if end == 0 {
            writeln!(file, "{}", fingerprint.to_json())?;
        }
        Ok(Answers::File(Self { file, path: path.into(), output: output.into(), rows, known }))
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

/// Reads a line, of which what is no UTF-8 has no end; gives the number of bytes.
fn read_line(reader: &mut impl BufRead, line: &mut String) -> Result<u64> {
    let mut bytes = Vec::new();
    let read = reader.read_until(b'\n', &mut bytes)? as u64;
    if let Ok(text) = String::from_utf8(bytes) {
        line.push_str(&text);
    }
    Ok(read)
}
