//! JSON values, one after the other or in lists. At most one is in memory.

use std::io::BufRead;

use crate::dataset::source::field::read_rest;
use crate::dataset::source::{Line, Scan, fill};
use crate::error::{At, ErrorKind, Result};
use crate::file_kind::BOM;

/// Reads JSON values from bytes, regardless of lines.
pub(crate) struct Items<R> {
    reader: R,
    longest: usize,
    are_listed: bool,
    /// The field of an object that the list is in.
    field: Option<String>,
    place: LastRead,
    number: u64,
    offset: u64,
    may_wait: bool,
}

/// What was read last, which decides what may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastRead {
    Start,
    Outside,
    /// A list's opening bracket.
    Opened,
    /// An item of a list.
    AfterItem,
    /// A comma in a list.
    Comma,
}

impl<R: BufRead> Items<R> {
    /// Values one after the other.
    pub(crate) fn values(reader: R, longest: usize) -> Self {
        Self {
            reader,
            longest,
            are_listed: false,
            field: None,
            place: LastRead::Start,
            number: 0,
            offset: 0,
            may_wait: false,
        }
    }

    /// The items of a list, or of several lists, and objects after them.
    pub(crate) fn of_lists(reader: R, longest: usize) -> Self {
        Self { are_listed: true, ..Self::values(reader, longest) }
    }

    /// The items of the list in a field of an object, with this many bytes before it.
    pub(crate) fn of_field(reader: R, longest: usize, field: String, offset: u64) -> Self {
        Self { field: Some(field), offset, ..Self::of_lists(reader, longest) }
    }

    /// Whether reading the next item may have to wait for more bytes.
    pub(crate) fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// Appends the bytes of the next item.
    ///
    /// # Errors
    /// The reader's errors, and a broken list, with the number of the item.
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
        let number = self.number + 1;
        self.next(bytes).at(crate::error::Place::Line { unit: "item", number })
    }

    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
        let broken = |what: &str| Err(ErrorKind::Parse(what.to_owned()).into());
        loop {
            if self.place == LastRead::Outside
                && let Some(field) = self.field.take()
            {
                read_rest(&mut self.reader, &field, self.longest)?;
            }
            let byte = self.peek()?;
            if self.place == LastRead::Start && byte == Some(0xef) {
                self.skip_byte_order_mark()?;
                continue;
            }
            match (byte, self.place) {
                (None, LastRead::Start | LastRead::Outside) => return Ok(None),
                (None, _) => return broken("the file ends within the list"),
                (Some(byte), _) if byte.is_ascii_whitespace() => self.take(1),
                (Some(b','), LastRead::Start | LastRead::Outside) if !self.are_listed => {
                    let what = "there is a comma before it, but no list around it";
                    return Err(ErrorKind::Parse(what.to_owned())
                        .with_way_out("separate the objects by line ends alone, or put [ ] around all of them"));
                }
                (Some(_), LastRead::Start | LastRead::Outside) if !self.are_listed => break,
                (Some(b'['), LastRead::Start | LastRead::Outside) => self.go(LastRead::Opened),
                (Some(b'{'), LastRead::Outside) => break,
                (Some(_), LastRead::Start | LastRead::Outside) => {
                    return broken("something other than a list or an object follows a list of records");
                }
                (Some(b']'), LastRead::Opened | LastRead::AfterItem) => self.go(LastRead::Outside),
                (Some(b','), LastRead::AfterItem) => self.go(LastRead::Comma),
                (Some(_), LastRead::AfterItem) => return broken("a comma is missing before it"),
                (Some(b',' | b']'), _) => return broken("there is nothing between a comma and the next"),
                (Some(_), LastRead::Opened | LastRead::Comma) => break,
            }
        }
        self.value(bytes).map(Some)
    }

    /// Reads a value. A value that is too long is skipped. One that breaks off is the last record, unless the list breaks
    /// off with it.
    fn value(&mut self, bytes: &mut Vec<u8>) -> Result<Line> {
        let (start, offset) = (bytes.len(), self.offset);
        let (mut scan, mut is_too_long, mut wrong) = (Scan::default(), false, None);
        loop {
            let longest = self.longest;
            let available = fill(&mut self.reader)?;
            if available.is_empty() {
                let what = "the file ends within it".to_owned();
                if self.are_listed {
                    return Err(ErrorKind::Parse(what).into());
                }
                wrong = Some(what.into());
                break;
            }
            let end = scan.end(available);
            let taken = end.unwrap_or(available.len());
            self.may_wait = memchr::memchr2(b']', b'}', &available[taken..]).is_none();
            if bytes.len() - start + taken > longest {
                is_too_long = true;
                bytes.truncate(start);
            } else if !is_too_long {
                bytes.extend_from_slice(&available[..taken]);
            }
            self.take(taken);
            if end.is_some() {
                break;
            }
        }
        let length = self.offset - offset;
        if length == 0 {
            return Err(ErrorKind::Parse("a bracket closes what was never opened".into()).into());
        }
        self.number += 1;
        self.place = match self.place {
            LastRead::Opened | LastRead::AfterItem | LastRead::Comma => LastRead::AfterItem,
            LastRead::Start | LastRead::Outside => LastRead::Outside,
        };
        Ok(Line { unit: "item", number: self.number, offset, length, is_too_long, wrong })
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        Ok(fill(&mut self.reader)?.first().copied())
    }

    fn go(&mut self, place: LastRead) {
        self.place = place;
        self.take(1);
    }

    fn take(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.offset += bytes as u64;
    }

    fn skip_byte_order_mark(&mut self) -> Result<()> {
        self.place = LastRead::Outside;
        for byte in BOM {
            if self.peek()?.as_ref() != Some(byte) {
                return Err(ErrorKind::NotUtf8(0).into());
            }
            self.take(1);
        }
        Ok(())
    }
}
