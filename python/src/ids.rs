//! The ids of a prompt, which become an array of NumPy once somebody asks for it: that takes longer than all else around
//! them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyList;

/// Token ids, which are never copied.
#[pyclass(frozen, module = "metatok._metatok")]
pub(crate) struct Ids(Mutex<Kept>);

enum Kept {
    Built(Vec<u32>),
    Array(Py<PyArray1<u32>>),
}

impl From<Vec<u32>> for Ids {
    fn from(ids: Vec<u32>) -> Self {
        Self(Mutex::new(Kept::Built(ids)))
    }
}

#[pymethods]
impl Ids {
    #[new]
    fn new(array: Py<PyArray1<u32>>) -> Self {
        Self(Mutex::new(Kept::Array(array)))
    }

    /// The array, which takes over the ids' memory.
    #[getter]
    fn array<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let kept = &mut *self.kept(py);
        match kept {
            Kept::Array(array) => array.bind(py).clone(),
            Kept::Built(ids) => {
                let array = std::mem::take(ids).into_pyarray(py);
                *kept = Kept::Array(array.clone().unbind());
                array
            }
        }
    }

    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &*self.kept(py) {
            Kept::Array(array) => array.bind(py).call_method0("tolist"),
            Kept::Built(ids) => Ok(PyList::new(py, ids)?.into_any()),
        }
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        match &*self.kept(py) {
            Kept::Array(array) => array.bind(py).len(),
            Kept::Built(ids) => ids.len(),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyArray1<u32>>,)) {
        let py = slf.py();
        (py.get_type::<Self>().into_any(), (slf.get().array(py),))
    }
}

impl Ids {
    /// Held only while an array is made or read, during which Python runs nothing that could ask for it again. Whoever waits
    /// for it must not hold up Python.
    fn kept(&self, py: Python<'_>) -> MutexGuard<'_, Kept> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}
