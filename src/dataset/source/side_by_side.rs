//! Lines on which objects stand side by side: each object is a record with the number of its line.

use std::io::BufRead;

use crate::dataset::source::{Line, Lines, Scan};
use crate::error::Result;

/// Reads lines, and the objects of a line one by one.
pub(crate) struct SideBySide<R> {
    lines: Lines<R>,
    /// The rest of a line of which an object was read, and how much of the rest was read.
    rest: Option<(Line, Vec<u8>, usize)>,
}

impl<R: BufRead> SideBySide<R> {
    pub(crate) fn new(lines: Lines<R>) -> Self {
        Self { lines, rest: None }
    }

    /// Whether a whole record is in the buffer, so that reading it does not wait.
    pub(crate) fn has_next(&self) -> bool {
        self.rest.is_some() || self.lines.has_next()
    }

    /// Appends the bytes of the next record.
    ///
    /// # Errors
    /// As [`Lines::next_into`].
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
        if let Some((line, rest, at)) = self.rest.take() {
            let left = &rest[at..];
            let end = end_of_first(left);
            bytes.extend_from_slice(&left[..end.unwrap_or(left.len())]);
            let record = part(&line, at, end.unwrap_or(left.len()));
            self.rest = end.map(|end| (line, rest, at + end));
            return Ok(Some(record));
        }
        let start = bytes.len();
        let Some(line) = self.lines.next_into(bytes)? else { return Ok(None) };
        let Some(end) = end_of_first(&bytes[start..]) else { return Ok(Some(line)) };
        let rest = bytes.split_off(start + end);
        let record = part(&line, 0, end);
        self.rest = Some((part(&line, end, rest.len()), rest, 0));
        Ok(Some(record))
    }
}

/// Where the first object of a line ends, with the white space after it, if another one follows.
fn end_of_first(line: &[u8]) -> Option<usize> {
    // Most lines have nothing like that, which is found out fast.
    memchr::memchr_iter(b'{', line).find(|at| line[..*at].trim_ascii_end().ends_with(b"}"))?;
    let end = Scan::default().end(line).filter(|_| line.trim_ascii_start().starts_with(b"{"))?;
    let next = line[end..].trim_ascii_start();
    next.starts_with(b"{").then_some(line.len() - next.len())
}

/// A part of a line.
fn part(line: &Line, at: usize, length: usize) -> Line {
    Line { offset: line.offset + at as u64, length: length as u64, ..line.clone() }
}
