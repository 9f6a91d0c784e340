//! The records of a CSV file, one at a time: no more than one is in memory, and none that is too long.

use std::io::{self, BufRead};

use csv::ByteRecord;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::dataset::source::fill;

/// Reads records.
pub(super) struct CsvRecords<R> {
    reader: R,
    parser: Reader,
    /// The fields of the record so far, and where each one ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Record,
    /// A record that was skipped.
    TooLong,
    End,
}

impl<R: BufRead> CsvRecords<R> {
    pub(super) fn new(reader: R, delimiter: u8, has_quotes: bool) -> Self {
        let parser = ReaderBuilder::new().delimiter(delimiter).quoting(has_quotes).build();
        Self { reader, parser, fields: Vec::new(), ends: Vec::new() }
    }

    /// Reads the next record. One with more bytes than `longest`, or more fields, is too long.
    pub(super) fn next(&mut self, record: &mut ByteRecord, longest: usize) -> io::Result<Found> {
        let (mut bytes, mut fields, mut is_too_long) = (0, 0, false);
        loop {
            let input = fill(&mut self.reader)?;
            let (found, read, written, ended) =
                self.parser.read_record(input, &mut self.fields[bytes..], &mut self.ends[fields..]);
            self.reader.consume(read);
            bytes += written;
            fields += ended;
            match found {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if !is_too_long && grow(&mut self.fields, longest) => {}
                ReadRecordResult::OutputEndsFull if !is_too_long && grow(&mut self.ends, longest) => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    (bytes, fields, is_too_long) = (0, 0, true);
                }
                ReadRecordResult::Record if is_too_long => return Ok(Found::TooLong),
                ReadRecordResult::Record => {
                    record.clear();
                    let mut start = 0;
                    for &end in &self.ends[..fields] {
                        record.push_field(&self.fields[start..end]);
                        start = end;
                    }
                    return Ok(Found::Record);
                }
                ReadRecordResult::End => return Ok(Found::End),
            }
        }
    }
}

/// Makes room, but not for more than this. Returns whether there is more than before.
fn grow<T: Copy + Default>(room: &mut Vec<T>, most: usize) -> bool {
    const LEAST: usize = 1 << 10;
    let before = room.len();
    room.resize((2 * before).clamp(LEAST, most.max(LEAST)), T::default());
    room.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_too_long_takes_no_memory() {
        let many = 1 << 22;
        for (long, after) in [
            (format!("1,\"{}\"\n", "x".repeat(many)), "2,b\n"),
            (format!("1,{}\n", "x".repeat(many)), "2,b\n"),
            (format!("1{}\n", ",".repeat(many)), "2,b\n"),
            (format!("1,\"{}", "x,y\n".repeat(many / 4)), ""),
        ] {
            let mut records = CsvRecords::new(io::Cursor::new(format!("a,b\n{long}{after}")), b',', true);
            let mut record = ByteRecord::new();
            let mut next = |records: &mut CsvRecords<_>| {
                let found = records.next(&mut record, 1 << 12).expect("memory can be read");
                (found, record.clone())
            };
            assert_eq!(next(&mut records), (Found::Record, ByteRecord::from(vec!["a", "b"])));
            assert_eq!(next(&mut records).0, Found::TooLong);
            if !after.is_empty() {
                assert_eq!(next(&mut records), (Found::Record, ByteRecord::from(vec!["2", "b"])));
            }
            assert_eq!(next(&mut records).0, Found::End);
            assert!(records.fields.capacity() <= 1 << 12 && records.ends.capacity() <= 1 << 12);
        }
    }
}
