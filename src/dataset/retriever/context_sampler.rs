//! Examples drawn like lm-evaluation-harness's `ContextSampler`: with Python's `random.sample`, one row after the
//! other.

use crate::dataset::python::PythonRandom;
use crate::dataset::retriever::{Examples, MOST_EXAMPLES, Retriever};
use crate::error::{ErrorKind, Result, counted};

/// Keeps drawing from row to row.
pub(crate) struct ContextSampler {
    random: PythonRandom,
    train: u32,
    count: u32,
    /// Whether one more is drawn, so that the row itself can be left out.
    leave_out_row: bool,
}

impl ContextSampler {
    pub(crate) fn new(seed: u32, train: usize, count: usize, leave_out_row: bool) -> Result<Self> {
        let drawn = count + usize::from(leave_out_row && count > 0);
        match u32::try_from(train) {
            Ok(train) if drawn <= train as usize && count <= MOST_EXAMPLES => {
                Ok(Self { random: PythonRandom::new(seed), train, count: count as u32, leave_out_row })
            }
            _ => {
                let more = if leave_out_row { " and one more, because the row itself is left out," } else { "" };
                let message = format!(
                    "ice_num: {}{more} cannot be drawn from a training set of {}",
                    counted(count, "example"),
                    counted(train, "row")
                );
                Err(ErrorKind::Dataset(message).into())
            }
        }
    }
}

impl Retriever for ContextSampler {
    fn retrieve(&mut self, _: usize) -> Result<Examples> {
        if self.count == 0 {
            return Ok(Examples::default());
        }
        let drawn = self.random.sample(self.train, self.count + u32::from(self.leave_out_row));
        let ids = drawn.into_iter().map(i64::from);
        Ok(match self.leave_out_row {
            true => Examples::Others { ids: ids.collect(), count: self.count as usize },
            false => Examples::Ids(ids.collect()),
        })
    }
}
