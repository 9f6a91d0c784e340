//! Inputs: files, standard input or memory, read record by record, or in batches that all cores share.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use metatok::input::{Input, each_line};
//!
//! let inputs = vec![Input::new("memory", &b"1\n\n2\n"[..])];
//! let mut lines = Vec::new();
//! each_line(inputs, 1 << 20, |place, line| {
//!     lines.push(format!("{place}: {}", line?));
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(lines, ["memory: line 1: 1", "memory: line 3: 2"]);
//! # Ok::<(), metatok::Error>(())
//! ```

mod batches;
mod digest;
mod id;
mod record_place;

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use serde::Deserialize;

use crate::conversation::{Conversation, Mode};
pub use crate::dataset::Holds;
use crate::dataset::{
    InputFormat, RecordReader, Records, Row, check_nesting, decompressed, is_compressed, json_lines, rows_of,
};
use crate::dialect::demo_conversations;
use crate::error::{At, Place, Result};
use crate::tokenizer::dataset_file;
use crate::wording;
pub(crate) use batches::{Batch, batches};
pub use digest::{digest_of_file, digest_of_input};
pub(crate) use id::without_escapes;
pub use record_place::RecordPlace;

/// Large enough to take a whole pipe at once.
const BUFFER: usize = 1 << 18;

/// An input with its name, and its length where that is known. What is compressed is read as what it holds.
pub struct Input {
    name: String,
    /// What errors count: lines, or the rows of a file that has none.
    unit: &'static str,
    reader: Box<dyn BufRead + Send>,
    bytes: Option<u64>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, unit, bytes, .. } = self;
        f.debug_struct("Input").field("name", name).field("unit", unit).field("bytes", bytes).finish_non_exhaustive()
    }
}

impl Input {
    /// Lines of JSON, or one JSON list. Errors name it so.
    pub fn new(name: impl Into<String>, reader: impl BufRead + Send + 'static) -> Self {
        Self { name: name.into(), unit: "line", reader: decompressed(Box::new(reader)), bytes: None }
    }

    /// A file: JSON lines or one JSON list, CSV, TSV, Parquet with its feature, compressed or not; `-` is standard input, and
    /// `hf://datasets/ORG/NAME/PATH` a file of the Hugging Face Hub. `columns` names the columns of CSV and TSV files that do
    /// not name them in their first record.
    ///
    /// # Errors
    /// What opening the file says, with its name; where the columns of another kind of file are named.
    pub fn open(path: &Path, columns: Option<&[String]>) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::stdin());
        }
        Self::open_file(path, columns).at(path.display())
    }

    fn open_file(path: &Path, columns: Option<&[String]>) -> Result<Self> {
        let name = path.display().to_string();
        let local = local(path)?;
        let file = File::open(&local)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        let (reader, has_no_lines) = rows_of(&local, file, columns)?;
        let unit = if has_no_lines { "row" } else { "line" };
        let bytes = (metadata.is_file() && !has_no_lines && !is_compressed(&local)).then_some(metadata.len());
        Ok(Self { name, unit, reader, bytes })
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Self::new("stdin", BufReader::with_capacity(BUFFER, io::stdin()))
    }

    /// The conversations of the built-in demo.
    pub fn demo() -> Self {
        let text = demo_conversations();
        Self { bytes: Some(text.len() as u64), ..Self::new("demo", text.as_bytes()) }
    }

    /// One record, which errors call `unit`.
    pub fn record(name: impl Into<String>, unit: &'static str, json: String) -> Self {
        Self { unit, ..Self::new(name, io::Cursor::new(json)) }
    }

    /// Rows in memory.
    pub fn rows(name: impl Into<String>, rows: Vec<Row>) -> Self {
        Self { name: name.into(), unit: "row", reader: json_lines(rows), bytes: None }
    }

    /// The name that errors have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its length, if it is a file whose bytes are read one after the other.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Whether its lines come when somebody writes them.
    fn may_wait(&self) -> bool {
        self.unit == "line" && self.bytes.is_none()
    }

    fn records(self, longest: usize, holds: Holds) -> Records<Box<dyn BufRead + Send>> {
        Records::new(self.reader, self.unit, longest, holds)
    }
}

/// A file, of the hub as it is in the cache.
fn local(path: &Path) -> Result<Cow<'_, Path>> {
    match path.to_str().filter(|name| name.starts_with("hf://")) {
        Some(url) => dataset_file(url).map(Cow::Owned),
        None => Ok(Cow::Borrowed(path)),
    }
}

/// Visits every record of every input, in order, until `visit` breaks off. It gets the record's place, and its text, or why
/// there is none: not UTF-8, or longer than `max_line_bytes`.
///
/// # Errors
/// What reading or `visit` says.
pub fn each_record(
    inputs: Vec<Input>,
    holds: Holds,
    max_line_bytes: usize,
    mut visit: impl FnMut(RecordPlace<'_>, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    for input in inputs {
        let name = input.name.clone();
        let mut records = input.records(max_line_bytes, holds);
        let mut bytes = Vec::new();
        while let Some(line) = records.next_into(&mut bytes).at(Place::file(&name))? {
            if visit(RecordPlace::new(&name, &line), line.text(&bytes, max_line_bytes))?.is_break() {
                return Ok(());
            }
            bytes.clear();
        }
    }
    Ok(())
}

/// Visits every line of every input, as [`each_record`] does.
///
/// # Errors
/// As [`each_record`].
pub fn each_line(
    inputs: Vec<Input>,
    max_line_bytes: usize,
    visit: impl FnMut(RecordPlace<'_>, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_record(inputs, Holds::Lines, max_line_bytes, visit)
}

/// Visits every conversation of every input, as [`each_record`] does. `visit` gets the error of a record that holds none,
/// with its place.
///
/// # Errors
/// As [`each_record`].
pub fn each_conversation(
    inputs: Vec<Input>,
    format: InputFormat,
    max_line_bytes: usize,
    mode: Mode,
    mut visit: impl FnMut(RecordPlace<'_>, Result<Conversation>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let reader = RecordReader::new(format);
    each_record(inputs, Holds::Conversations, max_line_bytes, |place, line| {
        let conversation = line.and_then(|line| reader.parse(line)?.into_conversation(mode));
        let conversation = conversation.map(|(conversation, _)| conversation);
        visit(place, conversation.map_err(|error| place.of_error(error)))
    })
}

/// Reads a record of JSON.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] with the column; where it is nested too deeply.
pub fn from_json<'l, T: Deserialize<'l>>(json: &'l str) -> Result<T> {
    check_nesting(json)?;
    Ok(serde_json::from_str(json).map_err(|error| wording::in_line(&error))?)
}
