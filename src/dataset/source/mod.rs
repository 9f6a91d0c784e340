//! Files of rows. Whatever their format, they are read as JSON lines, which everything else reads.
//!
//! A format is a file here and a line in [`FORMATS`].

mod compressed;
mod csv;
mod parquet;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::dataset::row::Row;
use crate::error::{Error, ErrorKind, Result, Setting};
pub(crate) use compressed::decompressed;

type Reader = Box<dyn BufRead + Send>;

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
    compressed::ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// Lines that are made one by one.
struct Made<F> {
    /// Appends a line, or nothing at the end.
    next: F,
    line: Vec<u8>,
    at: usize,
}

/// Reads what `next` appends, until it appends nothing.
fn made<F: FnMut(&mut Vec<u8>) -> io::Result<()> + Send + 'static>(next: F) -> Box<dyn BufRead + Send> {
    Box::new(Made { next, line: Vec::new(), at: 0 })
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> BufRead for Made<F> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
            (self.next)(&mut self.line)?;
        }
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, read: usize) {
        self.at += read;
    }
}

impl<F: FnMut(&mut Vec<u8>) -> io::Result<()>> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Rows as JSON lines.
pub(crate) fn json_lines(rows: Vec<Row>) -> Box<dyn BufRead + Send> {
    let mut rows = rows.into_iter();
    made(move |line| {
        let Some(row) = rows.next() else { return Ok(()) };
        serde_json::to_writer(&mut *line, &row)?;
        line.push(b'\n');
        Ok(())
    })
}

/// Appends a JSON object of columns that are written one by one, in their order.
fn write_object<'n, T>(
    columns: impl IntoIterator<Item = (&'n str, T)>,
    mut write: impl FnMut(T, &mut Vec<u8>) -> io::Result<()>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut separator = b'{';
    for (name, value) in columns {
        out.push(separator);
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        write(value, out)?;
        separator = b',';
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}
