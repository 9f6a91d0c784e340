//! metatok's errors and warnings as Python's, which `metatok.errors` makes of their fields.

use metatok::Error;
use metatok::error::Warning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::objects::to_python;
use crate::setting_name::setting_name;

/// The function that makes an exception.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The function that warns.
static WARN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Issues the warning at the caller's line.
///
/// # Errors
/// What Python's filters make of the warning.
pub(crate) fn warn(py: Python<'_>, warning: &Warning) -> PyResult<()> {
    let warn = WARN.get_or_try_init(py, || py.import("metatok.errors")?.getattr("_warn").map(Bound::unbind))?;
    warn.bind(py).call1((warning.display_with(&setting_name).to_string(),)).map(drop)
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).map_or_else(|error| error, PyErr::from_value)
}

fn made<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let mut fields = serde_json::to_value(error).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("message".into(), error.display_with(&setting_name).to_string().into());
        // As it stands in the message, without the sentence before it.
        let way_out = error.way_out().map(|way_out| way_out.display_with(&setting_name).to_string());
        fields.insert("way_out".into(), way_out.into());
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
