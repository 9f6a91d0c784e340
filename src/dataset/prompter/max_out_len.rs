//! The length of answers if rows specify it, in their column `max_out_len`, as in AISBench.

use crate::dataset::rows::{Row, Value};
use crate::error::{At, Error, ErrorKind, Place, Result};

const COLUMN: &str = "max_out_len";

/// How many tokens the answers of a row may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MaxOutLen {
    /// The row has no limit.
    #[default]
    Unset,
    /// This many, in every turn.
    Same(u64),
    /// This many for each turn in order.
    PerTurn(Vec<Option<u64>>),
}

impl MaxOutLen {
    /// Uses `limit` where the row has none.
    #[must_use]
    pub fn or(self, limit: Option<u64>) -> Self {
        match self {
            Self::Unset => limit.map_or(Self::Unset, Self::Same),
            Self::Same(own) => Self::Same(own),
            Self::PerTurn(list) => Self::PerTurn(list.into_iter().map(|own| own.or(limit)).collect()),
        }
    }

    /// A row's limit. Its column only counts if it is an input column.
    pub(crate) fn of_row(row: &Row, input_columns: &[String]) -> Result<Self> {
        let is_input = input_columns.iter().any(|column| column == COLUMN);
        Self::new(row.get(COLUMN).filter(|_| is_input)).at(Place::column(COLUMN))
    }

    /// The limit of a conversation's record, as JSON: a number above zero, also as text; none for null, `""` and 0.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] for anything else.
    pub fn of_json(json: &str) -> Result<Option<u64>> {
        limit(&Value::from_json(json)?).at(Place::column(COLUMN))
    }

    fn new(value: Option<&Value>) -> Result<Self> {
        Ok(match value {
            None => Self::Unset,
            Some(Value::List(list)) if list.is_empty() => Self::Unset,
            Some(Value::List(list)) => Self::PerTurn(list.iter().map(limit).collect::<Result<_>>()?),
            Some(value) => limit(value)?.map_or(Self::Unset, Self::Same),
        })
    }

    /// How long the answer of a turn may be; none if the row has no limit.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] if the list ends before this turn.
    pub fn of_turn(&self, turn: usize) -> Result<Option<u64>> {
        match self {
            Self::Unset => Ok(None),
            Self::Same(limit) => Ok(Some(*limit)),
            Self::PerTurn(list) => list.get(turn).copied().ok_or_else(|| {
                let what = format!(
                    "the list only covers {} of the turns, but turn {turn} (counted from 0) is generated too",
                    list.len()
                );
                Error::from(ErrorKind::Row(what)).at(Place::column(COLUMN))
            }),
        }
    }

    /// The longest limit in the row.
    pub fn longest(&self) -> Option<u64> {
        match self {
            Self::Unset => None,
            Self::Same(limit) => Some(*limit),
            Self::PerTurn(list) => list.iter().copied().flatten().max(),
        }
    }

    /// How long the answer may be if only the last turn is generated: the list's last item.
    pub fn of_last(&self) -> Option<u64> {
        match self {
            Self::Unset => None,
            Self::Same(limit) => Some(*limit),
            Self::PerTurn(list) => list.last().copied().flatten(),
        }
    }
}

/// A number, or a number as text from a CSV file.
fn limit(value: &Value) -> Result<Option<u64>> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::Text(text) if text.is_empty() => return Ok(None),
        Value::Int(digits) => digits.parse().ok(),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Float(number) if number.fract() == 0.0 && (0.0..9e15).contains(number) => Some(*number as i64),
        _ => None,
    };
    // Tables have numbers with a sign.
    match number.and_then(|number| u64::try_from(number).ok()) {
        Some(0) => Ok(None),
        Some(number) => Ok(Some(number)),
        None => {
            let what = format!("{} is not a number of tokens", value.shown());
            Err(ErrorKind::Row(what).into())
        }
    }
}
