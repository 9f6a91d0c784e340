//! CSV and TSV files: the first record names the columns unless the caller does, and every value is a string.

use std::io::{self, BufRead};

use csv::{ByteRecord, ReaderBuilder};

use crate::dataset::source::{BadRow, made, write_object};
use crate::error::{Error, ErrorKind, Result};

pub(super) fn open(file: Box<dyn BufRead + Send>, columns: Option<&[String]>) -> Result<Box<dyn BufRead + Send>> {
    read(file, b',', columns)
}

pub(super) fn open_tabs(file: Box<dyn BufRead + Send>, columns: Option<&[String]>) -> Result<Box<dyn BufRead + Send>> {
    read(file, b'\t', columns)
}

fn read(file: Box<dyn BufRead + Send>, delimiter: u8, columns: Option<&[String]>) -> Result<Box<dyn BufRead + Send>> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(columns.is_none())
        // A record of another length is wrong by itself, and no end.
        .flexible(true)
        .from_reader(file);
    let names = match columns {
        Some(columns) => columns.to_vec(),
        None => names(reader.byte_headers().map_err(|error| ErrorKind::Parse(error.to_string()))?)?,
    };
    if let Some(name) = names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then_some(name)) {
        return Err(ErrorKind::Parse(format!("two columns are named {name:?}")).into());
    }
    let mut record = ByteRecord::new();
    Ok(made(move |line| {
        if !reader.read_byte_record(&mut record).map_err(io::Error::other)? {
            return Ok(());
        }
        if let Some(what) = wrong(&record, &names) {
            return Err(BadRow { what, bytes: written(&record, delimiter) }.into());
        }
        let columns = names.iter().map(String::as_str).zip(&record);
        write_object(columns, |value, out| Ok(serde_json::to_writer(out, &String::from_utf8_lossy(value))?), line)?;
        line.push(b'\n');
        Ok(())
    }))
}

fn names(record: &ByteRecord) -> Result<Vec<String>> {
    let name = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned);
    record.iter().map(name).collect::<std::result::Result<_, _>>().map_err(|error| {
        Error::from(match record.get(0) {
            Some([0xff, 0xfe, ..]) => ErrorKind::OtherEncoding("UTF-16 (little endian)"),
            Some([0xfe, 0xff, ..]) => ErrorKind::OtherEncoding("UTF-16 (big endian)"),
            _ => {
                return ErrorKind::Parse(format!("the names of the columns are not UTF-8 ({error})"))
                    .with_way_out("convert the file first, for example with `iconv -f LATIN1 -t UTF-8`");
            }
        })
    })
}

/// Why a record is no row of these columns.
fn wrong(record: &ByteRecord, names: &[String]) -> Option<String> {
    let fields = |count| if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
    if record.len() != names.len() {
        let columns = if names.len() == 1 { "column is" } else { "columns are" };
        return Some(format!(
            "the record has {}, and the {columns} {}: is a quote or a delimiter missing?",
            fields(record.len()),
            names.join(", ")
        ));
    }
    let is_text = |value: &[u8]| std::str::from_utf8(value).is_ok();
    let (name, _) = names.iter().zip(record).find(|(_, value)| !is_text(value))?;
    Some(format!("column {name:?} is not UTF-8; convert the file first, for example with `iconv -f LATIN1 -t UTF-8`"))
}

/// A record much as it stood in the file.
fn written(record: &ByteRecord, delimiter: u8) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).flexible(true).from_writer(Vec::new());
    // Memory takes every byte.
    let _ = writer.write_byte_record(record);
    let mut bytes = writer.into_inner().unwrap_or_default();
    bytes.pop();
    bytes
}
