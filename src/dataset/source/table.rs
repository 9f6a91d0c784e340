//! The rows of a table, such as a CSV or Parquet file: numbered, and limited in length.

use std::io::{self, Write};

use crate::dataset::rows::Row;
use crate::dataset::source::{FileRecord, Line, Wrong};
use crate::error::{At, Error, Place, Result};

/// Reads the next row of a table, of at most this many bytes. After an error there are no more.
pub(crate) type TableRows = Box<dyn FnMut(usize) -> Option<io::Result<std::result::Result<Row, BadRow>>> + Send>;

/// A record that is not a row. The table continues after it.
#[derive(Debug)]
pub(crate) enum BadRow {
    TooLong,
    /// What is wrong with it, and its bytes in the file.
    Wrong(Wrong, Vec<u8>),
}

/// Reads the rows of a table.
pub(crate) struct Table {
    rows: TableRows,
    longest: usize,
    number: u64,
}

impl Table {
    /// Reads rows of at most `longest` bytes each, as JSON.
    pub(crate) fn new(rows: TableRows, longest: usize) -> Self {
        Self { rows, longest, number: 0 }
    }

    /// The next row. If a record is not a row, its bytes are appended.
    ///
    /// # Errors
    /// The reader's errors, with the number of the row.
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<FileRecord>> {
        self.number += 1;
        let line = Line::row(self.number);
        let Some(row) = (self.rows)(self.longest).transpose().at(Place::from(&line))? else { return Ok(None) };
        Ok(Some(match row {
            Ok(row) if !is_longer(&row, self.longest) => FileRecord { line, row: Some(row) },
            Err(BadRow::Wrong(wrong, found)) if found.len() <= self.longest => {
                bytes.extend_from_slice(&found);
                Line { length: found.len() as u64, wrong: Some(wrong), ..line }.into()
            }
            Ok(_) | Err(_) => Line { length: self.longest as u64, is_too_long: true, ..line }.into(),
        }))
    }
}

/// The rows as a table.
pub(crate) fn table_of(rows: Vec<std::result::Result<Row, BadRow>>) -> TableRows {
    let mut rows = rows.into_iter();
    Box::new(move |_| rows.next().map(Ok))
}

impl BadRow {
    /// A record with this error, and its bytes.
    pub(crate) fn new(error: Error, bytes: Vec<u8>) -> Self {
        let way_out = error.way_out().cloned();
        Self::Wrong(Wrong { what: error.without_way_out().to_string(), way_out }, bytes)
    }
}

/// Whether a row is longer than this as JSON. Only a row that may be too long is written out.
fn is_longer(row: &Row, longest: usize) -> bool {
    /// How many bytes one byte becomes at most: `\u0000`.
    const ESCAPED: usize = 6;
    row.unescaped_len() > longest / ESCAPED && serde_json::to_writer(Room(longest), row).is_err()
}

/// How many bytes may still be written.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_long_as_its_json() {
        for json in [
            r#"{}"#,
            r#"{"a":"b"}"#,
            r#"{"a":null,"b":true,"c":false,"d":-12,"e":[],"f":{},"g":[1,[2,"3"]],"h":{"i":{"j":"k"}}}"#,
            r#"{"a\n":"\u0001\u0002\u0003\"\\","b":"é😀"}"#,
            r#"{"a":-2.2250738585072014e-308,"b":1.0}"#,
        ] {
            let row = Row::from_json(json).expect("it is a row");
            assert_eq!(row.to_json().expect("it is JSON"), json);
            for longest in [0, 1, json.len() - 1, json.len(), json.len() + 1, 6 * json.len(), 9 * json.len()] {
                assert_eq!(is_longer(&row, longest), json.len() > longest, "{json} in {longest}");
            }
        }
    }
}
