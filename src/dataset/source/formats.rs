//! The formats of files of rows: all are read as JSON lines, which everything else reads.
//!
//! A format is a file here and a line in [`FORMATS`].

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::dataset::source::compressed::ENDINGS;
use crate::dataset::source::made_lines::Reader;
use crate::dataset::source::{csv, decompressed, parquet};
use crate::error::{Error, ErrorKind, Result, Setting};

/// How a file of rows is opened as JSON lines.
#[derive(Clone, Copy)]
enum Format {
    /// From its beginning to its end; its columns are named so where it does not name them itself.
    Stream(fn(Reader, Option<&[String]>) -> Result<Reader>),
    /// From anywhere in it.
    File(fn(File) -> Result<Reader>),
}

/// Refuses names for columns that have their own.
fn refuse_columns(columns: Option<&[String]>) -> Result<()> {
    match columns {
        None => Ok(()),
        Some(_) => {
            let what = "this is no CSV or TSV file, and its rows name their own columns";
            Err(Error::from(ErrorKind::Usage(what.into())).at(Setting::COLUMNS))
        }
    }
}

/// The formats by the endings of their names. What has another is JSON already.
const FORMATS: [(&str, Format); 3] = [
    ("csv", Format::Stream(csv::open)),
    ("tsv", Format::Stream(csv::open_tabs)),
    ("parquet", Format::File(parquet::open)),
];

/// Large enough to take a whole pipe at once.
const BUFFER: usize = 1 << 18;

/// A file as JSON, and whether it is in a format that has no lines of its own. What is compressed is read as
/// what it holds, whatever its name; an ending such as `.gz` stands behind that of the format.
pub(crate) fn rows_of(path: &Path, file: File, columns: Option<&[String]>) -> Result<(Reader, bool)> {
    let inner = if is_compressed(path) { path.with_extension("") } else { path.to_owned() };
    let ending = inner.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let format = FORMATS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, format)| *format);
    if !matches!(format, Some(Format::Stream(_))) {
        refuse_columns(columns)?;
    }
    if let Some(Format::File(open)) = format {
        return Ok((open(file)?, true));
    }
    let reader = decompressed(BufReader::with_capacity(BUFFER, file));
    match format {
        Some(Format::Stream(open)) => Ok((open(reader, columns)?, true)),
        _ => Ok((reader, false)),
    }
}

/// Whether the file's name says that it is compressed.
pub(crate) fn is_compressed(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}
