//! The lines of a file of any content: numbered, limited in length, and with their place in the file.

use std::fmt;
use std::io::{self, BufRead};

use crate::error::{At, Error, ErrorKind, Place, Result, WayOut};
use crate::file_kind::BOM;

/// Reads lines of bytes, skipping blank ones. A line ends with LF or CRLF. A UTF-8 byte order mark at the beginning is
/// skipped.
pub(crate) struct Lines<R> {
    reader: R,
    unit: &'static str,
    longest: usize,
    number: u64,
    offset: u64,
    has_next: bool,
}

/// A line and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// What it is called: a line, or a row in a file without lines.
    pub(crate) unit: &'static str,
    /// Its number, from 1, counting blank lines.
    pub(crate) number: u64,
    /// The bytes before it in the file.
    pub(crate) offset: u64,
    /// Its length in bytes, without its end; for a row of a table that is too long, the limit.
    pub(crate) length: u64,
    /// Whether it is longer than the limit. Then it is not kept.
    pub(crate) is_too_long: bool,
    /// Why it is no record, if the file shows that. The bytes are then those of the file.
    pub(crate) wrong: Option<Wrong>,
}

/// Why something in a file is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) what: String,
    pub(crate) way_out: Option<WayOut>,
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self { what, way_out: None }
    }
}

impl From<Wrong> for Error {
    fn from(Wrong { what, way_out }: Wrong) -> Self {
        let error = Self::from(ErrorKind::Parse(what));
        way_out.into_iter().fold(error, Self::with_way_out)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.unit, self.number)
    }
}

impl From<&Line> for Place {
    fn from(line: &Line) -> Self {
        Self::Line { unit: line.unit, number: line.number }
    }
}

impl Line {
    /// A row of a table, which has no place in bytes.
    pub(crate) fn row(number: u64) -> Self {
        Self { unit: "row", number, offset: 0, length: 0, is_too_long: false, wrong: None }
    }

    /// The line's text, if it is UTF-8.
    ///
    /// # Errors
    /// [`ErrorKind::LineTooLong`], [`ErrorKind::NotUtf8`], or [`ErrorKind::OtherEncoding`] if the first bytes show
    /// another encoding.
    pub(crate) fn text<'a>(&self, bytes: &'a [u8], longest: usize) -> Result<&'a str> {
        if self.is_too_long {
            return Err(ErrorKind::LineTooLong(longest).into());
        }
        if let Some(wrong) = &self.wrong {
            return Err(Error::from(wrong.clone()));
        }
        // The first line of such a file may be UTF-8.
        if let Some(other) = not_text(bytes).filter(|_| self.number == 1) {
            return Err(other.into());
        }
        std::str::from_utf8(bytes).map_err(|error| ErrorKind::NotUtf8(error.valid_up_to()).into())
    }
}

/// What a file is that begins with these bytes, if it is known and not UTF-8.
fn not_text(bytes: &[u8]) -> Option<ErrorKind> {
    Some(match bytes {
        [b'P', b'A', b'R', b'1', 0..0x20, ..] => {
            ErrorKind::Parse("this is Parquet; give it as a file whose name ends in .parquet".into())
        }
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => {
            ErrorKind::Parse("this is a file of Arrow, which is not read; write it as Parquet or as JSON lines".into())
        }
        _ => return ErrorKind::other_encoding(bytes),
    })
}

impl<R: BufRead> Lines<R> {
    /// Reads lines of at most `longest` bytes. `unit` is what messages call a line.
    pub(crate) fn new(reader: R, unit: &'static str, longest: usize) -> Self {
        Self { reader, unit, longest, number: 0, offset: 0, has_next: false }
    }

    /// Whether a whole line is in the buffer, so that reading it does not wait.
    pub(crate) fn has_next(&self) -> bool {
        self.has_next
    }

    /// Appends the bytes of the next line that is not blank.
    ///
    /// # Errors
    /// The reader's errors, with the number of the line.
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
        let start = bytes.len();
        loop {
            bytes.truncate(start);
            self.number += 1;
            let mut offset = self.offset;
            let may_have_mark = self.number == 1 && self.unit == "line";
            let longest = self.longest.saturating_add(if may_have_mark { BOM.len() } else { 0 });
            let read = self.read_line(bytes, longest).at(Place::Line { unit: self.unit, number: self.number });
            let (read, mut is_too_long) = read?;
            if read == 0 {
                return Ok(None);
            }
            self.offset += read;
            // Here the whole mark has been read, however slowly its bytes came.
            if may_have_mark && bytes[start..].starts_with(BOM) {
                bytes.drain(start..start + BOM.len());
                offset += BOM.len() as u64;
            }
            let line = &bytes[start..];
            is_too_long |= line.len() > self.longest;
            if !is_too_long && line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let length = if is_too_long { read } else { line.len() as u64 };
            let Self { unit, number, .. } = *self;
            return Ok(Some(Line { unit, number, offset, length, is_too_long, wrong: None }));
        }
    }

    /// The length of the line with its end, in bytes, and whether it is longer than this limit. A line that is too long
    /// is skipped.
    fn read_line(&mut self, bytes: &mut Vec<u8>, longest: usize) -> io::Result<(u64, bool)> {
        let start = bytes.len();
        let (mut read, mut is_too_long) = (0, false);
        loop {
            let available = fill(&mut self.reader)?;
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            self.has_next = memchr::memchr(b'\n', &available[taken..]).is_some();
            if bytes.len() - start + taken > longest.saturating_add(2) {
                is_too_long = true;
                bytes.truncate(start);
            } else if !is_too_long {
                bytes.extend_from_slice(&available[..end.unwrap_or(taken)]);
            }
            self.reader.consume(taken);
            read += taken as u64;
            if end.is_some() || taken == 0 {
                if bytes[start..].ends_with(b"\r") {
                    bytes.pop();
                }
                return Ok((read, is_too_long || bytes.len() - start > longest));
            }
        }
    }
}

/// The bytes in the buffer, or else the next ones; none at the end. A signal does not interrupt it.
pub(crate) fn fill<R: BufRead>(reader: &mut R) -> io::Result<&[u8]> {
    // Two calls, because the borrow of a success in the loop would outlive the loop. At the end there is only one: a
    // terminal's user would have to type the end twice.
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok([]) => return Ok(&[]),
            Ok(_) => break,
        }
    }
    reader.fill_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], expected: &[(u64, u64, &[u8], bool)]) {
        // The buffers are tiny, so that lines and marks continue after their end.
        for capacity in [1, 3] {
            let reader = io::BufReader::with_capacity(capacity, input);
            let mut lines = Lines::new(reader, "line", 8);
            let mut found = Vec::new();
            let mut bytes = Vec::new();
            while let Some(line) = lines.next_into(&mut bytes).expect("reading from memory") {
                found.push((line.number, line.offset, std::mem::take(&mut bytes), line.is_too_long));
            }
            let expected: Vec<_> =
                expected.iter().map(|&(number, offset, bytes, long)| (number, offset, bytes.to_vec(), long)).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn ends_and_blanks() {
        check(b"", &[]);
        check(b"\n \n\r\n", &[]);
        check(b"a\nb", &[(1, 0, b"a", false), (2, 2, b"b", false)]);
        check(b"a\r\n\nb\r\n", &[(1, 0, b"a", false), (3, 4, b"b", false)]);
        check(b"a\rb\n", &[(1, 0, b"a\rb", false)]);
    }

    #[test]
    fn files_that_are_not_text_are_named() {
        for (bytes, what) in [
            (&b"PAR1\x15\x04\xff"[..], "this is Parquet"),
            (b"PAR1\x15\x04", "this is Parquet"),
            (b"ARROW1\0\0\xff", "this is a file of Arrow"),
            (b"\xff\xfea\0", "UTF-16 (little endian)"),
            (b"\xfe\xff\0a", "UTF-16 (big endian)"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32 (little endian)"),
            (b"\0\0\xfe\xff\0\0\0a", "UTF-32 (big endian)"),
            (b"{\xff}", "byte offset 1"),
        ] {
            let error = Line::row(1).text(bytes, 100).expect_err("it is no text").to_string();
            assert!(error.contains(what), "{error}");
        }
        assert_eq!(Line::row(1).text(b"PAR1", 100).expect("it is text"), "PAR1");
    }

    #[test]
    fn limits_and_marks() {
        check(b"12345678\n9\n", &[(1, 0, b"12345678", false), (2, 9, b"9", false)]);
        check(b"12345678\r\n9\n", &[(1, 0, b"12345678", false), (2, 10, b"9", false)]);
        check(b"123456789\n9\n", &[(1, 0, b"123456789", true), (2, 10, b"9", false)]);
        check(b"1234567890123456789\n9\n", &[(1, 0, b"", true), (2, 20, b"9", false)]);
        check(b"\xef\xbb\xbfa\n", &[(1, 3, b"a", false)]);
        check(b"\xef\xbb\xbf\nb\n", &[(2, 4, b"b", false)]);
        // The mark is no part of the line.
        check(b"\xef\xbb\xbf12345678\r\n9\n", &[(1, 3, b"12345678", false), (2, 13, b"9", false)]);
        check(b"\xef\xbb\xbf123456789\n9\n", &[(1, 3, b"123456789", true), (2, 13, b"9", false)]);
    }
}
