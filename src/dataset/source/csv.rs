//! CSV and TSV files: the first record names the columns, and every value is a string.

use std::io::{self, BufRead};

use csv::{ByteRecord, ReaderBuilder};

use crate::dataset::source::{made, write_object};
use crate::error::{ErrorKind, Result};

pub(super) fn open(file: Box<dyn BufRead + Send>) -> Result<Box<dyn BufRead + Send>> {
    read(file, b',')
}

pub(super) fn open_tabs(file: Box<dyn BufRead + Send>) -> Result<Box<dyn BufRead + Send>> {
    read(file, b'\t')
}

fn read(file: Box<dyn BufRead + Send>, delimiter: u8) -> Result<Box<dyn BufRead + Send>> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(file);
    let parse = |error: csv::Error| ErrorKind::Parse(error.to_string());
    let names: Vec<String> = reader.headers().map_err(parse)?.iter().map(str::to_owned).collect();
    if let Some(name) = names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then_some(name)) {
        return Err(ErrorKind::Parse(format!("two columns are named {name:?}")).into());
    }
    let mut record = ByteRecord::new();
    Ok(made(move |line| {
        if !reader.read_byte_record(&mut record).map_err(io::Error::other)? {
            return Ok(());
        }
        let columns = names.iter().map(String::as_str).zip(&record);
        write_object(columns, text, line)?;
        line.push(b'\n');
        Ok(())
    }))
}

fn text(value: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let value = std::str::from_utf8(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("a value is not UTF-8: {error}")))?;
    Ok(serde_json::to_writer(out, value)?)
}
