//! Reads inputs record by record.

use std::borrow::Cow;
use std::ops::ControlFlow;

use serde::Deserialize;

use crate::dataset::records::Record;
use crate::dataset::{Holds, RawRecord, RecordReader, check_nesting};
use crate::error::{Place, Result};
use crate::input::{Input, RecordPlace};
use crate::wording;

/// Visits every record of every input, in order, until `visit` breaks off. It gets the record's place, and the record, or
/// why there is none: not UTF-8, or longer than `max_line_bytes`.
///
/// # Errors
/// [`crate::ErrorKind::Io`] if an input cannot be read, [`crate::ErrorKind::Parse`] for a broken list or table, and the
/// errors of `visit`.
pub fn each_record(
    inputs: Vec<Input>,
    holds: Holds,
    max_line_bytes: usize,
    mut visit: impl FnMut(RecordPlace<'_>, Result<RawRecord<'_>>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    for input in inputs {
        let name = input.name().to_owned();
        let mut records = input.records(max_line_bytes, holds);
        let mut bytes = Vec::new();
        while let Some(record) = records.next_into(&mut bytes).map_err(|error| error.at(Place::file(&name)))? {
            if visit(RecordPlace::new(&name, &record.line), record.raw(&bytes, max_line_bytes))?.is_break() {
                return Ok(());
            }
            bytes.clear();
        }
    }
    Ok(())
}

/// Visits every line of every input, as [`each_record`] does. A row of a table is a JSON object of its columns.
///
/// # Errors
/// As [`each_record`].
pub fn each_line(
    inputs: Vec<Input>,
    max_line_bytes: usize,
    visit: impl FnMut(RecordPlace<'_>, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_json(inputs, Holds::Lines, max_line_bytes, |record| record.json(), visit)
}

/// Visits every object of every input, as [`each_record`] does, as JSON on one line: lines, the items of a list, objects
/// over several lines, the rows of a table.
///
/// # Errors
/// As [`each_record`].
pub fn each_object(
    inputs: Vec<Input>,
    max_line_bytes: usize,
    visit: impl FnMut(RecordPlace<'_>, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_json(inputs, Holds::Rows, max_line_bytes, |record| record.json_line(), visit)
}

fn each_json(
    inputs: Vec<Input>,
    holds: Holds,
    max_line_bytes: usize,
    json_of: for<'r> fn(RawRecord<'r>) -> Result<Cow<'r, str>>,
    mut visit: impl FnMut(RecordPlace<'_>, Result<&str>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_record(inputs, holds, max_line_bytes, |place, record| match record.and_then(json_of) {
        Ok(json) => visit(place, Ok(&json)),
        Err(error) => visit(place, Err(error)),
    })
}

/// Visits every conversation of every input, as [`each_record`] does: its record, or why there is none.
/// [`Record::into_conversation`] gives the conversation of a prompt.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use metatok::Mode;
/// use metatok::dataset::records::{InputFormat, RecordReader};
/// use metatok::input::{Input, each_conversation};
///
/// let input = Input::new("memory", &br#"{"id": "a", "messages": [{"role": "user", "content": "Hi!"}]}"#[..]);
/// each_conversation(vec![input], RecordReader::new(InputFormat::Auto), 1000, |place, record| {
///     let record = record.map_err(|error| place.of_error(error))?;
///     assert_eq!(record.id.map(|id| id.get()), Some("\"a\""));
///     let (conversation, _) = record.into_conversation(Mode::Generate)?;
///     assert_eq!(conversation, [("user", "Hi!")].into());
///     Ok(ControlFlow::Continue(()))
/// })?;
/// # Ok::<(), metatok::Error>(())
/// ```
///
/// # Errors
/// As [`each_record`].
pub fn each_conversation(
    inputs: Vec<Input>,
    reader: RecordReader,
    max_line_bytes: usize,
    mut visit: impl FnMut(RecordPlace<'_>, Result<Record<'_>>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    each_json(
        inputs,
        Holds::Conversations,
        max_line_bytes,
        |record| record.json(),
        |place, json| visit(place, json.and_then(|json| reader.parse(json))),
    )
}

/// Reads a record of JSON.
///
/// # Errors
/// [`crate::ErrorKind::Parse`] with the column; where it is nested too deeply.
pub fn from_json<'l, T: Deserialize<'l>>(json: &'l str) -> Result<T> {
    check_nesting(json)?;
    serde_json::from_str(json).map_err(|error| wording::in_line_of(json, &error))
}
