//! The records of a file: its lines, the items of the one list that it is, or values over many lines.

use std::io::{self, BufRead, Cursor, Read};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::dataset::source::{Items, Line, Lines, Scan, fill};
use crate::error::{ErrorKind, Result};

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Conversations, of which a list may be one.
    Conversations,
    /// Rows, which are objects.
    Rows,
    /// Lines and nothing else.
    Lines,
}

/// What is read ahead to see what a file is, and then the rest.
type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Reads a file's records one by one.
///
/// A file is lines of JSON, unless it begins with a value that goes on behind the end of its line. It is then a
/// row of values, or, where that value is a list of records, the items of that list. A list on one line is its
/// items too where these can only be records: a list of messages, strings and markers is a conversation.
pub(crate) struct Records<R> {
    state: State<R>,
    unit: &'static str,
    longest: usize,
    holds: Holds,
}

enum State<R> {
    Unread(Option<R>),
    Lines(Lines<Whole<R>>),
    Items(Items<Whole<R>>),
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Lines,
    /// Values one behind the other, over several lines each.
    Values,
    /// The items of lists.
    Items,
    /// A list over several lines that begins with a string.
    Strings,
}

impl<R: BufRead> Records<R> {
    /// Reads records of at most `longest` bytes; `unit` is what a line is called.
    pub(crate) fn new(reader: R, unit: &'static str, longest: usize, holds: Holds) -> Self {
        Self { state: State::Unread(Some(reader)), unit, longest, holds }
    }

    /// Appends the bytes of the next record.
    ///
    /// # Errors
    /// What reading says, with the number of the record, and where a list is broken off.
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Line>> {
        loop {
            match &mut self.state {
                State::Lines(lines) => return lines.next_into(bytes),
                State::Items(items) => return items.next_into(bytes),
                State::Unread(reader) => {
                    let Some(reader) = reader.take() else { return Ok(None) };
                    self.state = self.begin(reader)?;
                }
            }
        }
    }

    /// Whether a further record is here already, whole, so that it comes without waiting.
    pub(crate) fn has_next(&self) -> bool {
        match &self.state {
            State::Unread(_) => false,
            State::Lines(lines) => lines.has_next(),
            State::Items(items) => !items.may_wait(),
        }
    }

    fn begin(&self, mut reader: R) -> Result<State<R>> {
        let mut head = Vec::new();
        let layout = match self.holds {
            Holds::Lines => Layout::Lines,
            // They are made as lines, one by one.
            _ if self.unit == "row" => Layout::Lines,
            holds => layout(&mut reader, &mut head, holds, self.longest)?,
        };
        let whole = Cursor::new(head).chain(reader);
        Ok(match layout {
            Layout::Lines => State::Lines(Lines::new(whole, self.unit, self.longest)),
            Layout::Values => State::Items(Items::values(whole, self.longest)),
            Layout::Items => State::Items(Items::of_lists(whole, self.longest)),
            Layout::Strings => {
                let what = "a list that begins with a string may be many prompts or one prompt list; write each prompt on a line of its own, or the list on one line";
                return Err(ErrorKind::Parse(what.into()).into());
            }
        })
    }
}

/// What a file is by what it begins with, which is read into `head`: of a line no more than its first value.
fn layout<R: BufRead>(reader: &mut R, head: &mut Vec<u8>, holds: Holds, longest: usize) -> Result<Layout> {
    let mut ahead = Ahead { reader, head, longest };
    let Some(start) = ahead.skip_space(0)? else { return Ok(Layout::Lines) };
    match ahead.head[start] {
        b'{' => Ok(if ahead.is_one_line(start)? { Layout::Lines } else { Layout::Values }),
        b'[' => {
            let Some(first) = ahead.skip_space(start + 1)? else { return Ok(Layout::Lines) };
            let mut scan = Scan::default();
            let Some(end) = ahead.end(first, &mut scan, false)? else { return Ok(Layout::Lines) };
            let first = &ahead.head[first..end];
            let is_record = match (holds, first.first()) {
                (Holds::Conversations, Some(b'{')) => !is_part(first),
                (Holds::Conversations, Some(b'[')) | (_, Some(b'{')) => true,
                _ => false,
            };
            let is_string = first.first() == Some(&b'"');
            if is_record {
                Ok(Layout::Items)
            } else if ahead.is_one_line(start)? {
                Ok(Layout::Lines)
            } else if is_string {
                Ok(Layout::Strings)
            } else {
                Ok(Layout::Values)
            }
        }
        _ => Ok(Layout::Lines),
    }
}

/// Reads ahead.
struct Ahead<'a, R> {
    reader: &'a mut R,
    head: &'a mut Vec<u8>,
    longest: usize,
}

impl<R: BufRead> Ahead<'_, R> {
    /// Whether there is more.
    fn more(&mut self) -> Result<bool> {
        if self.head.len() > self.longest {
            return Ok(false);
        }
        let available = fill(self.reader)?;
        let read = available.len();
        self.head.extend_from_slice(available);
        self.reader.consume(read);
        Ok(read > 0)
    }

    /// The place of the next byte that is no white space, a byte order mark at the beginning left out.
    fn skip_space(&mut self, mut at: usize) -> Result<Option<usize>> {
        loop {
            if at == 0 && self.head.starts_with(b"\xef") {
                while self.head.len() < 3 && self.more()? {}
                at = if self.head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            }
            match self.head[at.min(self.head.len())..].iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(found) => return Ok(Some(at + found)),
                None => {
                    at = at.max(self.head.len());
                    if !self.more()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Behind which byte the value ends that begins at `start`; nothing if it does not end, or, where it must be
    /// on one line, not on that.
    fn end(&mut self, start: usize, scan: &mut Scan, on_one_line: bool) -> Result<Option<usize>> {
        let mut at = start;
        loop {
            let rest = &self.head[at..];
            let line = memchr::memchr(b'\n', rest).filter(|_| on_one_line);
            if let Some(end) = scan.end(&rest[..line.unwrap_or(rest.len())]) {
                return Ok(Some(at + end));
            }
            at = self.head.len();
            if line.is_some() || !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Whether the value that begins at `start` is meant to be on one line: it is, or its line is broken off. A
    /// line is broken off within a string, and where the next one is a value by itself.
    fn is_one_line(&mut self, start: usize) -> Result<bool> {
        let mut scan = Scan::default();
        if self.end(start, &mut scan, true)?.is_some() || scan.is_in_text() {
            return Ok(true);
        }
        let Some(line) = memchr::memchr(b'\n', &self.head[start..]) else { return Ok(true) };
        let Some(next) = self.skip_space(start + line + 1)? else { return Ok(true) };
        if !matches!(self.head[next], b'{' | b'[') {
            return Ok(false);
        }
        let Some(end) = self.end(next, &mut Scan::default(), true)? else { return Ok(false) };
        while !self.head[end..].contains(&b'\n') && self.more()? {}
        let rest = self.head[end..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(rest.iter().all(u8::is_ascii_whitespace))
    }
}

/// Whether an object is a part of a conversation, and no conversation itself.
fn is_part(object: &[u8]) -> bool {
    serde_json::from_slice(object).is_ok_and(|Part(is_part)| is_part)
}

struct Part(bool);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Part;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Part, A::Error> {
                let (mut is_part, mut is_whole) = (false, false);
                while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                    is_part |= matches!(key.as_str(), "role" | "section" | "from");
                    is_whole |= matches!(key.as_str(), "messages" | "conversations" | "conversation");
                }
                Ok(Part(is_part && !is_whole))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(holds: Holds, input: &str, expected: &[&str]) {
        for capacity in [1, 3, 1 << 10] {
            let reader = io::BufReader::with_capacity(capacity, input.as_bytes());
            let mut records = Records::new(reader, "line", 1 << 10, holds);
            let (mut found, mut bytes) = (Vec::new(), Vec::new());
            loop {
                bytes.clear();
                match records.next_into(&mut bytes) {
                    Ok(Some(line)) => found.push(format!("{line}: {}", String::from_utf8_lossy(&bytes))),
                    Ok(None) => break,
                    Err(error) => {
                        found.push(error.to_string());
                        break;
                    }
                }
            }
            assert_eq!(found, expected, "{capacity} bytes at a time");
        }
    }

    #[test]
    fn lines() {
        use Holds::{Conversations, Rows};
        check(Conversations, "", &[]);
        check(Conversations, " \n\n", &[]);
        check(Conversations, "{\"a\": 1}\n{\"a\": 2}", &["line 1: {\"a\": 1}", "line 2: {\"a\": 2}"]);
        check(
            Conversations,
            "[{\"role\": 1}]\n[{\"role\": 2}]\n",
            &["line 1: [{\"role\": 1}]", "line 2: [{\"role\": 2}]"],
        );
        check(Conversations, "[]\n[]\n", &["line 1: []", "line 2: []"]);
        check(Conversations, "\u{feff}[\"a\"]", &["line 1: [\"a\"]"]);
        check(Rows, "[1, 2]\n{}", &["line 1: [1, 2]", "line 2: {}"]);
        // What is broken off is no reason to take all that follows for one value.
        check(Conversations, "{\"a\": \"b\n{\"a\": 1}", &["line 1: {\"a\": \"b", "line 2: {\"a\": 1}"]);
        check(Conversations, "{\"a\": [\n{\"a\": 1}\n", &["line 1: {\"a\": [", "line 2: {\"a\": 1}"]);
        check(Conversations, "[{\"role\":\n[1]\n", &["line 1: [{\"role\":", "line 2: [1]"]);
    }

    #[test]
    fn values_over_lines() {
        use Holds::{Conversations, Rows};
        check(Conversations, "{\n \"a\": 1\n}\n", &["item 1: {\n \"a\": 1\n}"]);
        check(Rows, "\u{feff}{\n}\n{ \"a\":\n 1}", &["item 1: {\n}", "item 2: { \"a\":\n 1}"]);
        check(Conversations, "[\n{\"role\": 1},\n{\"role\": 2}\n]", &["item 1: [\n{\"role\": 1},\n{\"role\": 2}\n]"]);
        check(Conversations, "[{\"role\": 1},\n {\"role\": 2}]", &["item 1: [{\"role\": 1},\n {\"role\": 2}]"]);
        let unclear = "a list that begins with a string may be many prompts or one prompt list; write each prompt on a line of its own, or the list on one line";
        check(Conversations, "[\n\"a\",\n\"b\"]", &[unclear]);
        check(Conversations, "{\n\"a\": 1\n", &["item 1: the file ends within it"]);
    }

    #[test]
    fn items_of_a_list() {
        use Holds::{Conversations, Rows};
        check(Conversations, "[{\"a\": 1}, {\"a\": 2}]", &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}"]);
        check(Conversations, "[\n {\"a\": 1},\n {\"a\":\n 2}\n]\n", &["item 1: {\"a\": 1}", "item 2: {\"a\":\n 2}"]);
        check(
            Conversations,
            "[[{\"role\": 1}], [{\"role\": 2}]]",
            &["item 1: [{\"role\": 1}]", "item 2: [{\"role\": 2}]"],
        );
        check(Rows, "[{\"role\": 1}]", &["item 1: {\"role\": 1}"]);
        check(Rows, "[{\"a\": 1}]\n[{\"a\": 2}]", &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}"]);
        check(Conversations, "[{\"a\": 1}, 2]", &["item 1: {\"a\": 1}", "item 2: 2"]);
        check(Rows, "[{\"a\": 1} {\"a\": 2}]", &["item 1: {\"a\": 1}", "item 2: a comma is missing before it"]);
        check(Rows, "[{\"a\": 1},]", &["item 1: {\"a\": 1}", "item 2: there is nothing between a comma and the next"]);
        check(Rows, "[{\"a\": 1}", &["item 1: {\"a\": 1}", "item 2: the file ends within the list"]);
        check(Rows, "[{\"a\": 1}, {\"a\":", &["item 1: {\"a\": 1}", "item 2: the file ends within it"]);
        check(
            Rows,
            "[{\"a\": 1}]\n{}",
            &["item 1: {\"a\": 1}", "item 2: something other than a list follows a list of records"],
        );
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let long = format!("[{{\"a\": 1}}, {{\"a\": \"{}\"}}, {{\"a\": 2}}]", "x".repeat(5_000));
        check(Holds::Rows, &long, &["item 1: {\"a\": 1}", "item 2: ", "item 3: {\"a\": 2}"]);
    }
}
