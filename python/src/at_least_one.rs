//! Numbers that must not be zero, with their names in what is said of them.

use std::num::NonZeroUsize;

use metatok::error::{ErrorKind, Result};
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
        at_least_one("threads", object.extract()?).map(Self).or_raise(object.py())
    }
}

/// The number, which has this name.
pub(crate) fn at_least_one(name: &str, number: usize) -> Result<NonZeroUsize> {
    NonZeroUsize::new(number).ok_or_else(|| ErrorKind::Usage(format!("{name} is 0, but must be at least 1")).into())
}
