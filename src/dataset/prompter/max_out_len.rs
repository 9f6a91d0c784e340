//! The length of answers where rows give it, in their column `max_out_len`, as in AISBench.

use crate::dataset::rows::{Row, Value};
use crate::error::{At, Error, ErrorKind, Place, Result};

const COLUMN: &str = "max_out_len";

/// How many tokens the answers of a row may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MaxOutLen {
    /// The row does not say.
    #[default]
    Unsaid,
    /// So many, in every turn.
    Same(u64),
    /// So many in one turn after the other.
    PerTurn(Vec<Option<u64>>),
}

impl MaxOutLen {
    /// The same, with a limit where none is said.
    #[must_use]
    pub fn or(self, limit: Option<u64>) -> Self {
        match self {
            Self::Unsaid => limit.map_or(Self::Unsaid, Self::Same),
            Self::Same(said) => Self::Same(said),
            Self::PerTurn(list) => Self::PerTurn(list.into_iter().map(|said| said.or(limit)).collect()),
        }
    }

    /// What a row says, whose column counts only if it is an input column.
    pub(crate) fn of_row(row: &Row, input_columns: &[String]) -> Result<Self> {
        let is_input = input_columns.iter().any(|column| column == COLUMN);
        Self::new(row.get(COLUMN).filter(|_| is_input)).at(format_args!("column {COLUMN:?}"))
    }

    fn new(value: Option<&Value>) -> Result<Self> {
        Ok(match value {
            None => Self::Unsaid,
            Some(Value::List(list)) if list.is_empty() => Self::Unsaid,
            Some(Value::List(list)) => Self::PerTurn(list.iter().map(limit).collect::<Result<_>>()?),
            Some(value) => limit(value)?.map_or(Self::Unsaid, Self::Same),
        })
    }

    /// How long the answer of a turn may be; nothing where the row does not say.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] if the list ends before this turn.
    pub fn of_turn(&self, turn: usize) -> Result<Option<u64>> {
        match self {
            Self::Unsaid => Ok(None),
            Self::Same(limit) => Ok(Some(*limit)),
            Self::PerTurn(list) => list.get(turn).copied().ok_or_else(|| {
                let what = format!(
                    "the list is for {} of the turns, and turn {turn} (the first is 0) is asked for too",
                    list.len()
                );
                Error::from(ErrorKind::Row(what)).at(Place::column(COLUMN))
            }),
        }
    }

    /// How long the longest answer may be, of those that the row speaks of.
    pub fn longest(&self) -> Option<u64> {
        match self {
            Self::Unsaid => None,
            Self::Same(limit) => Some(*limit),
            Self::PerTurn(list) => list.iter().copied().flatten().max(),
        }
    }

    /// How long the answer may be where only the last turn is asked for: the list's last.
    pub fn of_last(&self) -> Option<u64> {
        match self {
            Self::Unsaid => None,
            Self::Same(limit) => Some(*limit),
            Self::PerTurn(list) => list.last().copied().flatten(),
        }
    }
}

/// A number, also one that a CSV file has as text.
fn limit(value: &Value) -> Result<Option<u64>> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::Text(text) if text.is_empty() => return Ok(None),
        Value::Int(digits) => digits.parse().ok(),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Float(number) if number.fract() == 0.0 && (0.0..9e15).contains(number) => Some(*number as u64),
        _ => None,
    };
    match number {
        Some(0) => Ok(None),
        Some(number) => Ok(Some(number)),
        None => {
            let what = format!("{} is no number of tokens", value.repr());
            Err(ErrorKind::Row(what).into())
        }
    }
}
