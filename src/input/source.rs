//! An input: a file, standard input or memory.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::dataset::{
    BadRow, CsvOptions, Holds, InputFormat, RecordSource, Records, Row, decompressed, is_compressed, open, table_of,
};
use crate::dialect::demo_conversations;
use crate::error::{At, Error, ErrorKind, Place, Result, Setting};
use crate::tokenizer::dataset_file;

/// Large enough to take a whole pipe at once.
const BUFFER: usize = 1 << 18;

/// An input with its name, and its length where that is known. What is compressed is read as what it holds.
pub struct Input {
    name: String,
    /// What errors count: lines, or the rows of a file that has none.
    unit: &'static str,
    source: RecordSource,
    field: Option<String>,
    format: InputFormat,
    bytes: Option<u64>,
    /// Whether its records come when somebody writes them.
    may_wait: bool,
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
        let source = RecordSource::Bytes(decompressed(Box::new(reader)));
        Self::of(name, "line", source, true)
    }

    /// A file: JSON lines or one JSON list, CSV, TSV, Parquet with its feature, compressed or not; `-` is standard input, and
    /// `hf://datasets/ORG/NAME/PATH` a file of the Hugging Face Hub.
    ///
    /// # Errors
    /// What opening the file says, with its name.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &CsvOptions::default())
    }

    /// Opens a file as [`Self::open`] does. The options say what a CSV or TSV file does not say of itself.
    ///
    /// # Errors
    /// The same as for [`Self::open`], and options for another kind of file.
    pub fn open_with(path: &Path, options: &CsvOptions) -> Result<Self> {
        if is_stdin(path) {
            return Ok(Self::stdin());
        }
        Self::open_file(path, options).at(path.display())
    }

    fn open_file(path: &Path, options: &CsvOptions) -> Result<Self> {
        let name = path.display().to_string();
        let local = local(path)?;
        let file = File::open(&local)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
        }
        let source = open(&local, file, options)?;
        let may_wait = !metadata.is_file();
        if matches!(source, RecordSource::Table(_)) {
            return Ok(Self::of(name, "row", source, may_wait));
        }
        let bytes = (metadata.is_file() && !is_compressed(&local)).then_some(metadata.len());
        Ok(Self { bytes, ..Self::of(name, "line", source, may_wait) })
    }

    /// Reads the records from the list in this field of the JSON object that the input is, such as `{"data": [ … ]}`.
    /// Hugging Face's `datasets` calls it `field`, too. Nothing may follow the object.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use metatok::input::{Holds, Input, each_record};
    ///
    /// let file = br#"{"version": 1, "data": [{"question": "1+1=?"}, {"question": "2+2=?"}]}"#;
    /// let input = Input::new("memory", &file[..]).in_field("data")?;
    /// let mut rows = Vec::new();
    /// each_record(vec![input], Holds::Rows, 1 << 20, |place, record| {
    ///     rows.push(format!("{place}: {}", record?.json()?));
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(rows, [r#"memory: item 1: {"question": "1+1=?"}"#, r#"memory: item 2: {"question": "2+2=?"}"#]);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a table, which has no such field, with the input's name.
    pub fn in_field(self, field: impl Into<String>) -> Result<Self> {
        match self.source {
            RecordSource::Bytes(_) => Ok(Self { field: Some(field.into()), ..self }),
            RecordSource::Table(_) => {
                let what = "this is a table; only an object in a JSON file has fields";
                Err(Error::from(ErrorKind::Usage(what.into())).at(Setting::FIELD).at(Place::file(self.name)))
            }
        }
    }

    /// Sets the format of the conversations. Then a list is taken for one of records, and not of messages, if no
    /// record of the format is a list of messages.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use metatok::dataset::records::{InputFormat, RecordReader};
    /// use metatok::input::{Input, each_conversation};
    ///
    /// let file = br#"[{"prompt": "Who wrote it?", "role": "teacher"}]"#;
    /// let format = InputFormat::PromptCompletion;
    /// let input = Input::new("memory", &file[..]).in_format(format);
    /// let mut conversations = Vec::new();
    /// each_conversation(vec![input], RecordReader::new(format), 1 << 20, |_, record| {
    ///     conversations.push(record?.conversation);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(conversations, ["Who wrote it?".into()]);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    #[must_use]
    pub fn in_format(self, format: InputFormat) -> Self {
        Self { format, ..self }
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Self::new("stdin", BufReader::with_capacity(BUFFER, io::stdin()))
    }

    /// The conversations of the built-in demo.
    pub fn demo() -> Self {
        let text = demo_conversations();
        Self { bytes: Some(text.len() as u64), may_wait: false, ..Self::new("demo", text.as_bytes()) }
    }

    /// One record, which errors call `unit`.
    pub fn record(name: impl Into<String>, unit: &'static str, json: String) -> Self {
        Self { unit, may_wait: false, ..Self::new(name, io::Cursor::new(json)) }
    }

    /// Rows in memory.
    pub fn rows(name: impl Into<String>, rows: Vec<Row>) -> Self {
        Self::table(name, rows.into_iter().map(Ok).collect())
    }

    /// Rows in memory, among records that are none.
    pub(crate) fn table(name: impl Into<String>, rows: Vec<std::result::Result<Row, BadRow>>) -> Self {
        let source = RecordSource::Table(table_of(rows));
        Self::of(name, "row", source, false)
    }

    fn of(name: impl Into<String>, unit: &'static str, source: RecordSource, may_wait: bool) -> Self {
        Self { name: name.into(), unit, source, field: None, format: InputFormat::Auto, bytes: None, may_wait }
    }

    /// The name that errors have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its length, if it is a file whose bytes are read one after the other.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Whether its records come when somebody writes them.
    pub(crate) fn may_wait(&self) -> bool {
        self.may_wait
    }

    pub(crate) fn records(self, longest: usize, holds: Holds) -> Records<Box<dyn BufRead + Send>> {
        let holds = match holds {
            Holds::Conversations if self.format.lists_records() => Holds::Records,
            holds => holds,
        };
        Records::of(self.source, self.unit, longest, holds).in_field(self.field)
    }
}

/// Whether a path stands for standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where a file is: `hf://datasets/ORG/NAME/PATH`, a file of the Hugging Face Hub, is in the cache then.
///
/// # Errors
/// If a file of the hub cannot be downloaded.
pub fn local(path: &Path) -> Result<Cow<'_, Path>> {
    match path.to_str().filter(|name| name.starts_with("hf://")) {
        Some(url) => dataset_file(url).map(Cow::Owned),
        None => Ok(Cow::Borrowed(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_wait_for_nobody() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        for name in ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "a,b\n").expect("it can be written");
            assert!(!Input::open(&path).expect("it is there").may_wait(), "{name}");
        }
        assert!(Input::stdin().may_wait());
    }
}
