//! Objects of other libraries as plain ones: arrays, columns, rows, and classes with fields.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict, PyString, PyType};

/// The methods that give a list or a plain value: of NumPy, torch and pandas; of polars; of pyarrow's columns and values.
const LISTS: [&str; 4] = ["tolist", "to_list", "to_pylist", "as_py"];

/// The plain object that one of another library stands for; none for what is not known.
///
/// # Errors
/// `TypeError` for a table, which has many conversations; what the library's method raises.
pub(crate) fn plain<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.is_instance_of::<PyType>() {
        return Ok(None);
    }
    let py = object.py();
    if object.hasattr("model_dump")? {
        let as_json = [("mode", "json")].into_py_dict(py)?;
        return object.call_method("model_dump", (), Some(&as_json)).map(Some);
    }
    if object.hasattr("__dataclass_fields__")? {
        return py.import("dataclasses")?.call_method1("asdict", (object,)).map(Some);
    }
    if object.get_type().hasattr("columns")? {
        return Err(table(object));
    }
    if let Some(row) = row(object)? {
        return Ok(Some(row.into_any()));
    }
    for method in LISTS {
        if object.hasattr(method)? {
            return object.call_method0(method).map(Some);
        }
    }
    Ok(None)
}

/// A row of pandas, whose values have names; a column has numbers in their place.
fn row<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if !(object.hasattr("to_dict")? && object.hasattr("tolist")?) {
        return Ok(None);
    }
    let values = object.call_method0("to_dict")?;
    let values = values.cast_into::<PyDict>()?;
    let has_names = values.keys().iter().any(|key| key.is_instance_of::<PyString>());
    Ok(has_names.then_some(values))
}

fn table(table: &Bound<'_, PyAny>) -> PyErr {
    match table.get_type().qualname() {
        Err(error) => error,
        Ok(name) => PyTypeError::new_err(format!(
            "a table ({name}) is not a conversation: give build_arrow() the table and a column of it, or others \
             its rows, such as table.to_dict(\"records\")"
        )),
    }
}
