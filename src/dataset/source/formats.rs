//! The formats of files: JSON is read as bytes, and CSV, TSV and Parquet as tables.
//!
//! Each format is a file here and a line in [`FORMATS`].

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::dataset::source::compressed::ENDINGS;
use crate::dataset::source::csv::CsvOptions;
use crate::dataset::source::later::Later;
use crate::dataset::source::{TableRows, csv, decompressed, parquet};
use crate::error::{Error, ErrorKind, Result, Setting};

type Reader = Box<dyn BufRead + Send>;

/// Where the records of a file are read from.
pub(crate) enum RecordSource {
    /// Bytes of JSON.
    Bytes(Reader),
    Table(TableRows),
}

/// How to open a table.
#[derive(Clone, Copy)]
enum Format {
    /// Reads it from beginning to end.
    Stream(fn(Reader, &CsvOptions) -> Result<TableRows>),
    /// Reads any part of it.
    File(fn(File) -> Result<TableRows>),
}

/// Rejects options that the file has no use for.
fn refuse(options: &CsvOptions) -> Result<()> {
    let refused = |setting, what: &str| Err(Error::from(ErrorKind::Usage(what.into())).at(setting));
    match options {
        CsvOptions { columns: Some(_), .. } => {
            refused(Setting::COLUMNS, "this is not a CSV or TSV file; its rows name their own columns")
        }
        CsvOptions { quotes: Some(_), .. } => refused(Setting::QUOTES, "this is not a CSV or TSV file"),
        CsvOptions { columns: None, quotes: None } => Ok(()),
    }
}

/// The formats by their extensions. Files with other extensions are JSON.
const FORMATS: [(&str, Format); 3] = [
    ("csv", Format::Stream(csv::open)),
    ("tsv", Format::Stream(csv::open_tabs)),
    ("parquet", Format::File(parquet::open)),
];

/// Large enough to empty a whole pipe at once.
const BUFFER: usize = 1 << 18;

/// Opens a file in the format of its extension. If it is compressed, an extension such as `.gz` may come after that of
/// the format.
pub(crate) fn open(path: &Path, file: File, options: &CsvOptions) -> Result<RecordSource> {
    let inner = if is_compressed(path) { path.with_extension("") } else { path.to_owned() };
    let ending = inner.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = FORMATS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, format)| *format);
    if !matches!(format, Some(Format::Stream(_))) {
        refuse(options)?;
    }
    let now = |file| decompressed(BufReader::with_capacity(BUFFER, file));
    // A process cannot have thousands of files open at once. What is not a file, such as a pipe, cannot be opened again.
    let is_file = file.metadata()?.is_file();
    let (path, options) = (path.to_owned(), options.clone());
    let Some(format) = format else {
        let reader = if is_file { Box::new(Later::new(move || Ok(now(File::open(path)?)))) } else { now(file) };
        return Ok(RecordSource::Bytes(reader));
    };
    let table = move |file| match format {
        Format::Stream(open) => open(now(file), &options),
        Format::File(open) => open(file),
    };
    // What is wrong with how a table begins is found before anything is built.
    let rows = table(file)?;
    Ok(RecordSource::Table(if is_file { again(move || table(File::open(&path)?)) } else { rows }))
}

/// The rows of a table that is opened when its first row is read.
fn again(open: impl Fn() -> Result<TableRows> + Send + 'static) -> TableRows {
    let mut rows = None;
    Box::new(move |longest| {
        let rows = match &mut rows {
            Some(rows) => rows,
            None => match open() {
                Ok(opened) => rows.insert(opened),
                Err(error) => return Some(Err(io::Error::other(error.to_string()))),
            },
        };
        rows(longest)
    })
}

/// Whether the file has the extension of a compressed file.
pub(crate) fn is_compressed(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}
