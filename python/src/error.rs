//! metatok's errors as Python's exceptions, which `metatok.errors` makes of their fields.

use metatok::Error;
use metatok::error::Place;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::objects::to_python;

/// The function that makes an exception.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).map_or_else(|error| error, PyErr::from_value)
}

fn made<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let mut fields = serde_json::to_value(error).unwrap_or_default();
    let conversation = error.places().iter().find_map(|place| match place {
        Place::Conversation(i) => Some(*i),
        _ => None,
    });
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("conversation".into(), conversation.into());
        // As it stands in the message, without the sentence before it.
        fields.insert("way_out".into(), error.way_out().map(ToString::to_string).into());
    }
    let module = py.import("metatok.errors")?;
    let make = MAKE.get_or_try_init(py, || module.getattr("_of").map(Bound::unbind))?;
    make.bind(py).call1((to_python(py, &fields)?,))
}

/// Turns the error of a result into an exception.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for metatok::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
