//! Paths to values in the columns of a row: `answer.aliases[0]`. The longest beginning that names a column is the column.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::dataset::row_error;
use crate::dataset::rows::{Row, Value};
use crate::error::Result;

/// A column, and the steps from its value to a nested one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    text: String,
    /// Its beginnings that may be a column, the longest first, and how many steps each includes.
    columns: Vec<(String, usize)>,
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
        let (mut steps, mut columns) = (Vec::new(), vec![(column.to_owned(), 0)]);
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
            columns.push((text[..text.len() - rest.len()].to_owned(), steps.len()));
        }
        columns.reverse();
        let is_named = |step: &Step| !matches!(step, Step::Key(name) | Step::Named(name) if name.is_empty());
        let is_path = !column.is_empty() && steps.iter().all(is_named);
        is_path.then(|| Self { text: text.to_owned(), columns, steps })
    }

    /// The value at the path in a row, if there is one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Row`] if the column that should name an item does not.
    pub(crate) fn find<'r>(&self, row: &'r Row) -> Result<Option<&'r Value>> {
        let column = self.columns.iter().find_map(|(column, steps)| Some((row.get(column)?, &self.steps[*steps..])));
        let Some((value, steps)) = column else { return Ok(None) };
        let mut found = Some(value);
        for step in steps {
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

    /// The columns that it leads through, if a row has them: its own, and those that name an item.
    pub(crate) fn columns_used(&self) -> impl Iterator<Item = &str> {
        let named = self.steps.iter().filter_map(|step| match step {
            Step::Named(column) => Some(column.as_str()),
            Step::Key(_) | Step::Item(_) => None,
        });
        self.columns.iter().map(|(column, _)| column.as_str()).chain(named)
    }

    fn number(&self, column: &str, named: &Value) -> Result<i64> {
        let what = || row_error(&format!("{self}: {column} must be a whole number from 0 on, not {}", named.shown()));
        // As datasets hide an answer, -1 is no item.
        whole_number(named).filter(|number| *number >= 0).ok_or_else(what)
    }
}

fn item_of(value: &Value, item: i64) -> Option<&Value> {
    let Value::List(items) = value else { return None };
    let item = if item < 0 { item + items.len() as i64 } else { item };
    items.get(usize::try_from(item).ok()?)
}

/// An integer, or its digits. One with a fraction of zero counts: pandas writes integers so where a column has nulls.
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(digits) | Value::Text(digits) => digits.trim().parse().ok(),
        Value::Float(number) if number.fract() == 0.0 => format!("{number:.0}").parse().ok(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_is_the_column() {
        let row = r#"{"a.b": ["x", {"c": "y"}], "a": {"b": ["z"], "d": "w"}, "c.d[0]": 1, "i": 1.0}"#;
        let row = Row::from_json(row).expect("it is a row");
        for (path, expected) in [
            ("a.b[0]", Some("x")),
            ("a.b[i].c", Some("y")),
            ("a.b[-1].c", Some("y")),
            ("a.d", Some("w")),
            ("c.d[0]", Some("1")),
            ("c.d", None),
            ("a.b[2]", None),
        ] {
            let path = Path::parse(path).expect("it is a path");
            let found = path.find(&row).expect("its indices are numbers");
            assert_eq!(found.map(|value| value.text().into_owned()).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn an_index_is_a_whole_number() {
        let found = |index| Path::parse("a[i]").expect("it is a path").find(&index).map(|found| found.cloned());
        let row = |i| Row::new(vec![("a".into(), Value::List(vec!["x".into()])), ("i".into(), i)]);
        assert_eq!(found(row(Value::Float(0.0))).expect("it is one"), Some("x".into()));
        for (wrong, shown) in [(0.5, "0.5"), (f64::NAN, "nan"), (f64::INFINITY, "inf"), (-1.0, "-1.0")] {
            let error = found(row(Value::Float(wrong))).expect_err("it is none").to_string();
            assert_eq!(error, format!("a[i]: i must be a whole number from 0 on, not {shown}"));
        }
    }
}
