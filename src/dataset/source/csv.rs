//! CSV and TSV files: the first record names the columns unless the caller does, and every value is a string.

use std::collections::HashSet;
use std::io::{self, BufRead};

use csv::{ByteRecord, ReaderBuilder};

use crate::dataset::rows::{Row, Value};
use crate::dataset::source::{BadRow, TableRows};
use crate::error::{Error, ErrorKind, Result};

pub(super) fn open(file: Box<dyn BufRead + Send>, columns: Option<&[String]>) -> Result<TableRows> {
    read(file, b',', columns)
}

pub(super) fn open_tabs(file: Box<dyn BufRead + Send>, columns: Option<&[String]>) -> Result<TableRows> {
    read(file, b'\t', columns)
}

/// A record after the last one of a file, which a quote that nothing closes takes into its field.
const END: &str = "\u{4}metatok: the end of the file\u{4}";
const BEHIND: &str = "\n\u{4}metatok: the end of the file\u{4}\n";

fn read(file: Box<dyn BufRead + Send>, delimiter: u8, columns: Option<&[String]>) -> Result<TableRows> {
    let file = io::Read::chain(file, BEHIND.as_bytes());
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(columns.is_none())
        // A record of another length is an error of its own, and reading continues after it.
        .flexible(true)
        .from_reader(file);
    let names = match columns {
        Some(columns) => columns.to_vec(),
        None => match names(reader.byte_headers().map_err(|error| ErrorKind::Parse(error.to_string()))?)? {
            names if names == [END] => Vec::new(),
            names if names.last().is_some_and(|name| name.ends_with(BEHIND)) => {
                return Err(ErrorKind::Parse(NOT_CLOSED.into()).into());
            }
            names => names,
        },
    };
    if let [name] = &names[..]
        && let Some(other) = [';', '\t', '|'].into_iter().find(|other| name.contains(*other))
    {
        let what = format!("the only column is named {name:?}, so the delimiter seems to be {other:?}");
        return Err(ErrorKind::Parse(what).with_way_out("save the file with commas, or with tabs as .tsv"));
    }
    let mut seen = HashSet::new();
    // What has no name is not meant to be used.
    if let Some(name) = names.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str())) {
        let what = format!("two columns are named {name:?}");
        return Err(ErrorKind::Parse(what).with_way_out("rename one of them in the first line of the file"));
    }
    let mut record = ByteRecord::new();
    let mut may_be_names = columns.is_some();
    Ok(Box::new(std::iter::from_fn(move || match reader.read_byte_record(&mut record) {
        Ok(true) if record == [END][..] => None,
        Ok(true) if std::mem::take(&mut may_be_names) && record == names => {
            Some(Ok(Err(BadRow { what: NAMES_TWICE.into(), bytes: written(&record, delimiter) })))
        }
        Ok(true) => Some(Ok(row(&record, &names).map_err(|what| BadRow { what, bytes: written(&record, delimiter) }))),
        Ok(false) => None,
        Err(error) => Some(Err(io::Error::other(error))),
    })))
}

fn names(record: &ByteRecord) -> Result<Vec<String>> {
    let name = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned);
    record.iter().map(name).collect::<std::result::Result<_, _>>().map_err(|error| {
        Error::from(match record.get(0) {
            Some([0xff, 0xfe, ..]) => ErrorKind::OtherEncoding("UTF-16 (little endian)"),
            Some([0xfe, 0xff, ..]) => ErrorKind::OtherEncoding("UTF-16 (big endian)"),
            _ => {
                return ErrorKind::Parse(format!("the names of the columns are not UTF-8 ({error})"))
                    .with_way_out(CONVERT);
            }
        })
    })
}

/// The row of a record, or the error in it.
fn row(record: &ByteRecord, names: &[String]) -> std::result::Result<Row, String> {
    if record.iter().next_back().is_some_and(|last| last.ends_with(BEHIND.as_bytes())) {
        return Err(NOT_CLOSED.into());
    }
    if record.len() != names.len() {
        return Err(other_length(record.len(), names));
    }
    let column = |(name, value): (&String, &[u8])| match std::str::from_utf8(value) {
        Ok(text) => Ok((name.clone(), Value::from(text))),
        Err(_) => Err(format!("column {name:?} is not UTF-8; {CONVERT}")),
    };
    names.iter().zip(record).map(column).collect::<std::result::Result<_, _>>().map(Row::new)
}

/// What is wrong with a first record that has the names which were given.
const NAMES_TWICE: &str =
    "the first record has the names that were given for the columns; leave them out, because the file has its own";

/// What to do about text that is not UTF-8.
const CONVERT: &str =
    "convert the file first from its own encoding, for example with `iconv -f WINDOWS-1252 -t UTF-8` if it is Excel's";

/// What is wrong with a last record that takes all that is left of a file.
const NOT_CLOSED: &str = "a quote is not closed before the end of the file";

fn other_length(found: usize, names: &[String]) -> String {
    let fields = if found == 1 { "1 field".to_owned() } else { format!("{found} fields") };
    let columns = if names.len() == 1 { "column is" } else { "columns are" };
    let names = names.join(", ");
    format!("the record has {fields}, and the {columns} {names}: is a quote or a delimiter missing?")
}

/// A writer without any room would try for ever.
const LEAST_ROOM: usize = 1 << 10;

/// A record almost as it is written in the file.
fn written(record: &ByteRecord, delimiter: u8) -> Vec<u8> {
    // For a field that is longer than the writer's room, the rest of it is searched for quotes each time that the room is full.
    let room = record.as_slice().len().max(LEAST_ROOM);
    let mut writer =
        csv::WriterBuilder::new().delimiter(delimiter).flexible(true).buffer_capacity(room).from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_byte_record(record);
    let mut bytes = writer.into_inner().unwrap_or_default();
    bytes.pop();
    // What was read after the end, and the quote that the writer adds after it.
    if let Some(file) = bytes.strip_suffix(b"\"").and_then(|bytes| bytes.strip_suffix(BEHIND.as_bytes())) {
        return file.to_vec();
    }
    bytes
}
