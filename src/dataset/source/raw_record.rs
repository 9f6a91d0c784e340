//! A record before it is interpreted: JSON, or a row of a table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use crate::dataset::rows::Row;
use crate::dataset::source::Line;
use crate::error::{Error, ErrorKind, Result};

/// A record before it is interpreted.
///
/// ```
/// use metatok::Row;
/// use metatok::input::RawRecord;
///
/// let json = r#"{"question":"1+1=?"}"#;
/// let row = Row::from_json(json)?;
/// assert_eq!(RawRecord::Json(json).row()?, RawRecord::Row(&row).row()?);
/// assert_eq!(RawRecord::Row(&row).json()?, json);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum RawRecord<'r> {
    /// JSON, as the file has it.
    Json(&'r str),
    /// A row of a file that is a table: CSV, TSV or Parquet.
    Row(&'r Row),
}

impl<'r> RawRecord<'r> {
    /// The record as JSON; a row as an object of its columns.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Parse`] if a whole number of the row has no digits.
    pub fn json(self) -> Result<Cow<'r, str>> {
        match self {
            Self::Json(json) => Ok(json.into()),
            Self::Row(row) => row.to_json().map(Cow::Owned),
        }
    }

    /// The record as JSON on one line.
    ///
    /// # Errors
    /// The same as for [`Self::json`]; [`ErrorKind::Parse`] for a line of a file of rejected lines.
    pub fn json_line(self) -> Result<Cow<'r, str>> {
        let json = self.json()?;
        if let Some(error) = rejected_line(&json) {
            return Err(error);
        }
        // A string has no line end in JSON.
        Ok(if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
            json.replace(['\n', '\r'], " ").into()
        } else {
            json
        })
    }

    /// The record as a row.
    ///
    /// # Errors
    /// The same as for [`Row::from_json`].
    pub fn row(self) -> Result<Cow<'r, Row>> {
        match self {
            Self::Json(json) if json.trim_start().starts_with(is_of_no_json) => {
                let what = "a row must be a JSON object, such as {\"question\": \"…\"}";
                let way_out = "if this is CSV or TSV, give it as a file whose name ends in .csv or .tsv";
                Err(ErrorKind::Parse(what.into()).with_way_out(way_out))
            }
            Self::Json(json) => match rejected_line(json) {
                Some(error) => Err(error),
                None => Row::from_json(json).map(Cow::Owned),
            },
            Self::Row(row) => Ok(Cow::Borrowed(row)),
        }
    }
}

/// The keys of a line in a file of rejected lines, see [`crate::input::Rejected`].
const REJECTED: [&str; 9] = ["file", "line", "item", "row", "error", "offset", "length", "text", "bytes"];

/// The error for a line of a file of rejected lines; none if it is not one. Its `text` is the record that it was.
pub(crate) fn rejected_line(json: &str) -> Option<Error> {
    if !json.trim_start().starts_with("{\"file\":") {
        return None;
    }
    let keys: BTreeMap<String, IgnoredAny> = serde_json::from_str(json).ok()?;
    let is_rejected = ["file", "error", "text"].iter().all(|key| keys.contains_key(*key))
        && ["line", "item", "row"].iter().any(|key| keys.contains_key(*key))
        && keys.keys().all(|key| REJECTED.contains(&key.as_str()));
    let what = "this is a rejected line, and \"text\" is the record that it was";
    let way_out = "write the texts to a file of their own, for example with `jq -r .text`";
    is_rejected.then(|| ErrorKind::Parse(what.into()).with_way_out(way_out))
}

/// Whether no value of JSON begins with this letter.
pub(crate) fn is_of_no_json(c: char) -> bool {
    c.is_alphabetic() && !matches!(c, 'n' | 't' | 'f')
}

impl<'r> From<&'r str> for RawRecord<'r> {
    fn from(json: &'r str) -> Self {
        Self::Json(json)
    }
}

/// A record of a file, with its place.
#[derive(Debug, Clone)]
pub(crate) struct FileRecord {
    pub(crate) line: Line,
    /// The row, if the file is a table. Otherwise the caller has the record's bytes.
    pub(crate) row: Option<Row>,
}

impl FileRecord {
    /// The record; these are its bytes if it is not a row.
    ///
    /// # Errors
    /// The same as for [`Line::text`].
    pub(crate) fn raw<'r>(&'r self, bytes: &'r [u8], longest: usize) -> Result<RawRecord<'r>> {
        match &self.row {
            Some(row) => Ok(RawRecord::Row(row)),
            None => self.line.text(bytes, longest).map(RawRecord::Json),
        }
    }

    /// The bytes of the record: these, or its row as JSON.
    pub(crate) fn bytes<'r>(&self, bytes: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        match &self.row {
            Some(row) => Ok(row.to_json()?.into_bytes().into()),
            None => Ok(bytes.into()),
        }
    }
}

impl From<Line> for FileRecord {
    fn from(line: Line) -> Self {
        Self { line, row: None }
    }
}
