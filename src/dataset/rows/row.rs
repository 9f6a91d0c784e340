//! A row of a dataset: its columns in order, which is the order in which templates are filled.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::dataset::rows::{Entries, Value};
use crate::error::{Error, ErrorKind, Result};

/// A row of a dataset: its columns in order, each with one value. In JSON it is an object with its columns in that order.
///
/// ```
/// use metatok::Row;
///
/// let row = Row::from_json(r#"{"question": "1+1=?", "answer": 2, "question": "1+2=?"}"#)?;
/// // Of a column that occurs twice, the last value counts, as in Python.
/// assert_eq!(row.get("question").map(|value| value.text().into_owned()).as_deref(), Some("1+2=?"));
/// assert_eq!(row.repeated(), Some("question"));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    columns: Vec<(String, Value)>,
    repeated: Option<String>,
}

impl Row {
    /// A row of these columns.
    pub fn new(columns: Vec<(String, Value)>) -> Self {
        Self { columns, repeated: None }
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] if it is not JSON, [`ErrorKind::Invalid`] if it is not an object.
    pub fn from_json(json: &str) -> Result<Self> {
        match Value::columns(json)? {
            Some(columns) => Ok(columns.into()),
            None => {
                Err(ErrorKind::Invalid("a row must be a JSON object: {\"question\": \"…\", \"answer\": \"…\"}".into())
                    .into())
            }
        }
    }

    /// The row as a JSON object, with its columns in their order.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for a whole number whose digits are none.
    pub(crate) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| ErrorKind::Parse(error.to_string()).into())
    }

    /// Its length in bytes as JSON if nothing is escaped. Escapes make it at most six times as long.
    pub(crate) fn unescaped_len(&self) -> usize {
        self.columns.iter().map(|(name, value)| name.len() + value.unescaped_len() + 4).sum::<usize>() + 2
    }

    /// The first column that occurred more than once when the row was read. The last value counts, as in Python.
    pub fn repeated(&self) -> Option<&str> {
        self.repeated.as_deref()
    }

    /// With the repeated column of the row that it was made of.
    pub(crate) fn repeating(self, of: &Self) -> Self {
        Self { repeated: of.repeated.clone(), ..self }
    }

    /// The value of a column.
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.columns.iter().find(|(name, _)| name == column).map(|(_, value)| value)
    }

    /// The columns with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.columns.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether it has the same columns as another row with equal values, in any order; whatever is in the `ignored` ones.
    pub(crate) fn equals(&self, other: &Self, ignored: &[&str]) -> bool {
        let compared = |row: &'_ Self| row.names().filter(|name| !ignored.contains(name)).count();
        let has = |(name, value): &(String, Value)| {
            ignored.contains(&name.as_str()) || other.get(name).is_some_and(|other| other.equals(value))
        };
        compared(self) == compared(other) && self.columns.iter().all(has)
    }

    /// The error for a column that the row does not have.
    pub(crate) fn no_column(&self, column: &str) -> Error {
        ErrorKind::MissingColumn { column: column.to_owned(), columns: listed(self.names()) }.into()
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Sets a column, in its place if it exists, else after all others.
    pub fn set(&mut self, column: &str, value: Value) {
        match self.columns.iter_mut().find(|(name, _)| name == column) {
            Some((_, old)) => *old = value,
            None => self.columns.push((column.to_owned(), value)),
        }
    }
}

impl From<Entries<Value>> for Row {
    fn from(Entries { entries, repeated, .. }: Entries<Value>) -> Self {
        Self { columns: entries, repeated }
    }
}

impl Serialize for Row {
    /// Writes a JSON object of the columns in their order.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// At most this many columns are listed in an error.
const NAMED: usize = 40;

/// Column names for an error: the first ones, and how many more there are.
pub(crate) fn listed<'n>(mut names: impl Iterator<Item = &'n str>) -> String {
    let mut first = names.by_ref().take(NAMED).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => {}
        more => first.push_str(&format!(", and {more} more")),
    }
    first
}

/// A row as a template sees it: the value of one column may be replaced.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'r> {
    row: &'r Row,
    masked: Option<(&'r str, &'r str)>,
}

impl<'r> Fields<'r> {
    pub(crate) fn new(row: &'r Row) -> Self {
        Self { row, masked: None }
    }

    /// With `token` in place of a column, or after all others if the row does not have it.
    pub(crate) fn masked(row: &'r Row, column: &'r str, token: &'r str) -> Self {
        Self { row, masked: Some((column, token)) }
    }

    /// The number of columns, plus one if a column is masked that the row does not have.
    pub(crate) fn len(self) -> usize {
        self.row.columns.len() + usize::from(self.masked.is_some())
    }

    /// The columns with their texts, which are only created when needed.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'r str, Field<'r>)> {
        let own = self.row.columns.iter().map(move |(name, value)| match self.masked {
            Some((column, token)) if column == name => (name.as_str(), Field::Text(token)),
            _ => (name.as_str(), Field::Value(value)),
        });
        let absent = self.masked.filter(|(column, _)| self.row.get(column).is_none());
        own.chain(absent.map(|(column, token)| (column, Field::Text(token))))
    }
}

/// The contents of a column.
#[derive(Clone, Copy)]
pub(crate) enum Field<'r> {
    Value(&'r Value),
    Text(&'r str),
}

impl<'r> Field<'r> {
    pub(crate) fn text(self) -> Cow<'r, str> {
        match self {
            Self::Value(value) => value.text(),
            Self::Text(text) => text.into(),
        }
    }
}
