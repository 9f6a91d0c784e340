//! Paths to values in the columns of a row: `answer.aliases[0]`.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::dataset::row_error;
use crate::dataset::rows::{Row, Value};
use crate::error::Result;

/// A column, and the steps from its value to a nested one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    text: String,
    column: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `.key` of a dict.
    Key(String),
    /// `[0]` of a list, from its end if it is negative.
    Item(i64),
    /// `[column]`: the item or key that another column names.
    Named(String),
}

impl Path {
    fn parse(text: &str) -> Option<Self> {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (column, mut rest) = text.split_at(end);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let (key, after) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
                steps.push(Step::Key(key.to_owned()));
                rest = after;
            } else {
                let (inner, after) = rest.strip_prefix('[')?.split_once(']')?;
                steps.push(inner.parse().map_or_else(|_| Step::Named(inner.to_owned()), Step::Item));
                rest = after;
            }
        }
        let is_named = |step: &Step| !matches!(step, Step::Key(name) | Step::Named(name) if name.is_empty());
        let is_path = !column.is_empty() && steps.iter().all(is_named);
        is_path.then(|| Self { text: text.to_owned(), column: column.to_owned(), steps })
    }

    /// The value at the path in a row, if there is one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if the column that should name an item does not.
    pub(crate) fn find<'r>(&self, row: &'r Row) -> Result<Option<&'r Value>> {
        let mut found = row.get(&self.column);
        for step in &self.steps {
            let Some(value) = found else { break };
            found = match step {
                Step::Key(key) => value.get(key),
                Step::Item(item) => item_of(value, *item),
                Step::Named(column) => match (row.get(column), value) {
                    (Some(named), Value::Dict(_)) => value.get(&named.text()),
                    (Some(named), _) => item_of(value, self.number(column, named)?),
                    (None, _) => return Err(row.no_column(column)),
                },
            };
        }
        Ok(found)
    }

    fn number(&self, column: &str, named: &Value) -> Result<i64> {
        let what = || row_error(&format!("{self}: {column} must be a number, not {}", named.repr()));
        whole_number(named).ok_or_else(what)
    }
}

fn item_of(value: &Value, item: i64) -> Option<&Value> {
    let Value::List(items) = value else { return None };
    let item = if item < 0 { item + items.len() as i64 } else { item };
    items.get(usize::try_from(item).ok()?)
}

/// An integer, or its digits.
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(digits) | Value::Text(digits) => digits.trim().parse().ok(),
        _ => None,
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let what =
            || format!("{text:?} is not a path such as \"choices[0]\", \"answer.aliases[0]\" or \"endings[label]\"");
        Self::parse(&text).ok_or_else(|| de::Error::custom(what()))
    }
}
