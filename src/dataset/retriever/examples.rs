//! A retriever's result: the examples of a row, by their numbers in the training set.

use std::fmt;
use std::sync::Arc;

use crate::dataset::rows::Row;
use crate::error::{Error, ErrorKind, Result, counted};

/// Returns the examples for one row after the other.
pub trait Retriever: Send {
    /// The examples of row number `index` of the test set.
    ///
    /// # Errors
    /// Any error of the retriever.
    fn retrieve(&mut self, index: usize) -> Result<Examples>;

    /// The examples of row number `index` of the test set, which is number `row` of its file if the dataset picks rows.
    ///
    /// # Errors
    /// Any error of the retriever.
    fn retrieve_picked(&mut self, index: usize, _row: usize) -> Result<Examples> {
        self.retrieve(index)
    }
}

/// The examples of a row.
#[derive(Clone)]
pub enum Examples {
    /// Those with these numbers. A negative one counts from the end.
    Ids(Vec<i64>),
    /// The first of those with these numbers that are not the row itself.
    Others {
        /// Their numbers, more than are wanted.
        ids: Arc<[i64]>,
        /// How many are wanted.
        count: usize,
    },
    /// Those that this finds for the row itself. Finding takes time, so it is left to the caller that has the row.
    ByRow(Arc<FindExamples>),
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ids(ids) => f.debug_tuple("Ids").field(ids).finish(),
            Self::Others { ids, count } => f.debug_struct("Others").field("ids", ids).field("count", count).finish(),
            Self::ByRow(_) => f.write_str("ByRow(..)"),
        }
    }
}

/// Finds the examples of a row by its contents.
pub type FindExamples = dyn Fn(&Row) -> Vec<i64> + Send + Sync;

impl Examples {
    /// The examples' numbers, in the training set, for the row that they were retrieved for.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] if the row itself is among them so often that too few others are left.
    pub fn of(self, row: &Row, train: &[Row]) -> Result<Vec<i64>> {
        self.of_ignoring(&[], row, train)
    }

    /// The examples' numbers, where rows that differ only in the `ignored` columns are the same row.
    pub(crate) fn of_ignoring(self, ignored: &[&str], row: &Row, train: &[Row]) -> Result<Vec<i64>> {
        match self {
            Self::Ids(ids) => Ok(ids),
            Self::Others { ids, count } => {
                let is_other = |id: &i64| {
                    let example = usize::try_from(*id).ok().and_then(|id| train.get(id));
                    !example.is_some_and(|example| example.equals(row, ignored))
                };
                others(&ids, count, is_other)
            }
            Self::ByRow(find) => Ok(find(row)),
        }
    }
}

/// The first `count` of the examples that are not the row itself.
fn others(ids: &[i64], count: usize, is_other: impl Fn(&i64) -> bool) -> Result<Vec<i64>> {
    let others: Vec<i64> = ids.iter().copied().filter(is_other).take(count).collect();
    if others.len() < count {
        let left = counted(others.len() as u64, "example");
        let what = format!("without the row itself, only {left} can be used, not {count}");
        return Err(ErrorKind::Dataset(what).with_way_out("remove duplicate rows of the training set, or add others"));
    }
    Ok(others)
}

impl Default for Examples {
    fn default() -> Self {
        Self::Ids(Vec::new())
    }
}

impl From<Vec<i64>> for Examples {
    fn from(ids: Vec<i64>) -> Self {
        Self::Ids(ids)
    }
}

/// No context holds more examples.
pub(crate) const MOST_EXAMPLES: usize = 1 << 20;

/// An error for more examples than a context can hold.
pub(crate) fn too_many(key: &str, count: usize) -> ErrorKind {
    ErrorKind::Dataset(format!("{key} is {count}, but no context holds more than {MOST_EXAMPLES} examples"))
}

pub(crate) fn no_such_example(id: i64, train: usize) -> Error {
    ErrorKind::Dataset(format!("there is no example {id}; the training set has {}", counted(train, "row"))).into()
}
