//! The records of a file: its lines, the items of lists, values regardless of lines, or the rows of a table.

use std::io::{self, BufRead, Cursor, Read};

use crate::dataset::source::field::find_list;
use crate::dataset::source::layout::{FileLayout, Holds, layout};
use crate::dataset::source::{FileRecord, Items, Lines, RecordSource, SideBySide, Table};
use crate::error::{ErrorKind, Result};

/// The bytes that were read to detect the layout, and then the rest.
type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Reads a file's records one by one.
///
/// A file is lines of JSON, unless its first value continues after the first line. Then it is a series of values or, if
/// that value is a list of records, the items of that list. The items of a list on one line are records only if they
/// cannot be anything else: a list of messages, strings and markers is one conversation.
pub(crate) struct Records<R> {
    state: State<R>,
    unit: &'static str,
    longest: usize,
    holds: Holds,
    field: Option<String>,
}

enum State<R> {
    Unread(Option<R>),
    Lines(Lines<Whole<R>>),
    Objects(Box<SideBySide<Whole<R>>>),
    Items(Items<Whole<R>>),
    Table(Table),
}

impl Records<Box<dyn BufRead + Send>> {
    /// Reads a source, as [`Self::new`] does. Errors call the records of a table rows.
    pub(crate) fn of(source: RecordSource, unit: &'static str, longest: usize, holds: Holds) -> Self {
        match source {
            RecordSource::Bytes(reader) => Self::new(reader, unit, longest, holds),
            RecordSource::Table(rows) => {
                Self { state: State::Table(Table::new(rows, longest)), unit, longest, holds, field: None }
            }
        }
    }
}

impl<R: BufRead> Records<R> {
    /// Reads records of at most `longest` bytes. `unit` is what messages call a line.
    pub(crate) fn new(reader: R, unit: &'static str, longest: usize, holds: Holds) -> Self {
        Self { state: State::Unread(Some(reader)), unit, longest, holds, field: None }
    }

    /// The records of a list in this field of the object that the file is.
    pub(crate) fn in_field(self, field: Option<String>) -> Self {
        Self { field, ..self }
    }

    /// The next record. Its bytes are appended, unless it is a row of a table.
    ///
    /// # Errors
    /// The reader's errors, and a broken list, with the number of the record.
    pub(crate) fn next_into(&mut self, bytes: &mut Vec<u8>) -> Result<Option<FileRecord>> {
        loop {
            match &mut self.state {
                State::Lines(lines) => return Ok(lines.next_into(bytes)?.map(FileRecord::from)),
                State::Objects(lines) => return Ok(lines.next_into(bytes)?.map(FileRecord::from)),
                State::Items(items) => return Ok(items.next_into(bytes)?.map(FileRecord::from)),
                State::Table(table) => return table.next_into(bytes),
                State::Unread(reader) => {
                    let Some(reader) = reader.take() else { return Ok(None) };
                    self.state = self.begin(reader)?;
                }
            }
        }
    }

    /// Whether a whole record is in the buffer, so that reading it does not wait.
    pub(crate) fn has_next(&self) -> bool {
        match &self.state {
            State::Unread(_) | State::Table(_) => false,
            State::Lines(lines) => lines.has_next(),
            State::Objects(lines) => lines.has_next(),
            State::Items(items) => !items.may_wait(),
        }
    }

    fn begin(&self, mut reader: R) -> Result<State<R>> {
        let mut head = Vec::new();
        if let Some(field) = &self.field {
            let offset = find_list(&mut reader, field, self.longest)?;
            let list = Cursor::new(head).chain(reader);
            return Ok(State::Items(Items::of_field(list, self.longest, field.clone(), offset)));
        }
        let layout = match self.holds {
            Holds::Lines => FileLayout::Lines,
            holds => layout(&mut reader, &mut head, holds, self.longest)?,
        };
        let whole = Cursor::new(head).chain(reader);
        Ok(match layout {
            FileLayout::Lines => {
                let lines = Lines::new(whole, self.unit, self.longest);
                if self.holds == Holds::Lines {
                    State::Lines(lines)
                } else {
                    State::Objects(Box::new(SideBySide::new(lines)))
                }
            }
            FileLayout::Values => State::Items(Items::values(whole, self.longest)),
            FileLayout::Items => State::Items(Items::of_lists(whole, self.longest)),
            FileLayout::Strings => {
                let what = "a list that begins with a string may be many prompts or one prompt list; write each prompt on a line of its own, or the list on one line";
                return Err(ErrorKind::Parse(what.into()).into());
            }
        })
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
                    Ok(Some(record)) => found.push(format!("{}: {}", record.line, String::from_utf8_lossy(&bytes))),
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
        // A server's error may end its line, and its answers not.
        check(
            Rows,
            "{\"a\": 1}\n{\"a\": 2}{\"a\": \"}{\"}{\"b\":\r\n{\"a\": \"}{\"}",
            &[
                "line 1: {\"a\": 1}",
                "line 2: {\"a\": 2}",
                "line 2: {\"a\": \"}{\"}",
                "line 2: {\"b\":",
                "line 3: {\"a\": \"}{\"}",
            ],
        );
        check(
            Conversations,
            "{}\n {\"a\": \"} {\"} \t{\"b\": [{} ,{}]} {\n[{} {}]\n",
            &[
                "line 1: {}",
                "line 2:  {\"a\": \"} {\"} \t",
                "line 2: {\"b\": [{} ,{}]} ",
                "line 2: {",
                "line 3: [{} {}]",
            ],
        );
        check(Holds::Lines, "{}\n{}{}", &["line 1: {}", "line 2: {}{}"]);
        // A line that is cut off does not join the lines after it to one value.
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
        // It is a record that says why it is none.
        check(Conversations, "{\n\"a\": 1\n", &["item 1: {\n\"a\": 1\n"]);
        // As servers answer, one after the other, into one file.
        check(Rows, "{\"a\": 1}{\"a\": 2}", &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}"]);
        check(
            Conversations,
            "{\"a\": 1} {\"a\": 2}\n{\"a\": 3}",
            &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}", "item 3: {\"a\": 3}"],
        );
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
        // Columns with the names of keys of messages.
        for record in [
            r#"{"instruction": 1, "output": 2, "role": 3}"#,
            r#"{"text": 1, "section": 2}"#,
            r#"{"prompt": 1, "from": 2}"#,
            r#"{"from": 1, "value": 2, "conversations": 3}"#,
        ] {
            check(Conversations, &format!("[{record}]"), &[&format!("item 1: {record}")]);
        }
        for part in [
            r#"{"role": 1, "content": 2, "instruction": 3}"#,
            r#"{"role": 1, "prompt": 2}"#,
            r#"{"from": 1, "value": 2}"#,
            r#"{"section": 1, "pos": 2}"#,
        ] {
            check(Conversations, &format!("[{part}]"), &[&format!("line 1: [{part}]")]);
        }
        check(Rows, "[{\"a\": 1}]\n[{\"a\": 2}]", &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}"]);
        check(Conversations, "[{\"a\": 1}, 2]", &["item 1: {\"a\": 1}", "item 2: 2"]);
        check(Rows, "[{\"a\": 1} {\"a\": 2}]", &["item 1: {\"a\": 1}", "item 2: a comma is missing before it"]);
        check(Rows, "[{\"a\": 1},]", &["item 1: {\"a\": 1}", "item 2: there is nothing between a comma and the next"]);
        check(Rows, "[{\"a\": 1}", &["item 1: {\"a\": 1}", "item 2: the file ends within the list"]);
        check(Rows, "[{\"a\": 1}, {\"a\":", &["item 1: {\"a\": 1}", "item 2: the file ends within it"]);
        check(
            Rows,
            "[{\"a\": 1}]\n{\"a\": 2} [{}]{}",
            &["item 1: {\"a\": 1}", "item 2: {\"a\": 2}", "item 3: {}", "item 4: {}"],
        );
        check(
            Rows,
            "[{\"a\": 1}]\n2",
            &["item 1: {\"a\": 1}", "item 2: something other than a list or an object follows a list of records"],
        );
    }

    #[test]
    fn long_items_are_not_kept() {
        let long = format!("[{{\"a\": 1}}, {{\"a\": \"{}\"}}, {{\"a\": 2}}]", "x".repeat(5_000));
        check(Holds::Rows, &long, &["item 1: {\"a\": 1}", "item 2: ", "item 3: {\"a\": 2}"]);
    }
}
