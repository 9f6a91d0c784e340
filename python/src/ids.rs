//! The ids of a prompt, which become an array of NumPy once somebody asks for it: that takes longer than all else around
//! them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use numpy::{IntoPyArray, PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyList;

/// Token ids, which are never copied to become an array.
#[pyclass(frozen, module = "metatok._metatok")]
pub(crate) struct Ids {
    kept: Mutex<Kept>,
    count: usize,
}

enum Kept {
    Built(Vec<u32>),
    /// A thread makes the array. Python may collect garbage meanwhile, and run anything.
    Becoming(ThreadId),
    Array(Py<PyArray1<u32>>),
}

/// The class, and what it is made of.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyArray1<u32>>,));

impl From<Vec<u32>> for Ids {
    fn from(ids: Vec<u32>) -> Self {
        Self { count: ids.len(), kept: Mutex::new(Kept::Built(ids)) }
    }
}

#[pymethods]
impl Ids {
    #[new]
    fn new(array: &Bound<'_, PyArray1<u32>>) -> Self {
        Self { count: array.len(), kept: Mutex::new(Kept::Array(array.clone().unbind())) }
    }

    /// The array, which takes over the ids' memory.
    #[getter]
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let own = thread::current().id();
        loop {
            if let Some(ids) = self.built(py, own)? {
                let array = ids.into_pyarray(py);
                *self.kept(py) = Kept::Array(array.clone().unbind());
                return Ok(array);
            }
            if let Kept::Array(array) = &*self.kept(py) {
                return Ok(array.bind(py).clone());
            }
            py.detach(thread::yield_now);
        }
    }

    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let built = match &*self.kept(py) {
            Kept::Built(ids) => Some(ids.clone()),
            Kept::Becoming(_) | Kept::Array(_) => None,
        };
        match built {
            Some(ids) => Ok(PyList::new(py, ids)?.into_any()),
            None => self.array(py)?.call_method0("tolist"),
        }
    }

    fn __len__(&self) -> usize {
        self.count
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let py = slf.py();
        Ok((py.get_type::<Self>().into_any(), (slf.get().array(py)?,)))
    }
}

impl Ids {
    /// The ids, for this thread to make an array of; none if another one does or did.
    ///
    /// # Errors
    /// If this thread itself is just making one.
    fn built(&self, py: Python<'_>, own: ThreadId) -> PyResult<Option<Vec<u32>>> {
        let kept = &mut *self.kept(py);
        match kept {
            Kept::Becoming(thread) if *thread == own => {
                Err(PyRuntimeError::new_err("these ids are becoming an array; ask again after that"))
            }
            Kept::Becoming(_) | Kept::Array(_) => Ok(None),
            Kept::Built(ids) => {
                let ids = std::mem::take(ids);
                *kept = Kept::Becoming(own);
                Ok(Some(ids))
            }
        }
    }

    /// Never held while Python makes an object: up to 3.11 it collects garbage at once, and may come back here.
    fn kept(&self, py: Python<'_>) -> MutexGuard<'_, Kept> {
        self.kept.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}
