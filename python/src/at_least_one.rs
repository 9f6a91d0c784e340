//! Numbers that must not be zero, with their names in what is said of them.

use std::num::NonZeroUsize;

use metatok::error::{ErrorKind, Result};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// How many threads are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Threads(NonZeroUsize);

impl Threads {
    pub(crate) fn get(self) -> NonZeroUsize {
        self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let number =
            object.extract::<usize>().or_else(|error: PyErr| match error.is_instance_of::<PyOverflowError>(py) {
                // There are no more cores than that.
                true if object.gt(0)? => Ok(usize::MAX),
                true => Err(too_small("threads", object.str()?)).or_raise(py),
                false => Err(PyTypeError::new_err(format!("threads must be a whole number, not {}", object.repr()?))),
            })?;
        at_least_one("threads", number).map(Self).or_raise(py)
    }
}

/// The number, which has this name.
pub(crate) fn at_least_one(name: &str, number: usize) -> Result<NonZeroUsize> {
    NonZeroUsize::new(number).ok_or_else(|| too_small(name, number))
}

fn too_small(name: &str, number: impl std::fmt::Display) -> metatok::Error {
    ErrorKind::Usage(format!("{name} is {number}, but must be at least 1")).into()
}
