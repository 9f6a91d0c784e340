//! Plain Python objects as JSON.

use std::borrow::Cow;

use metatok::error::ErrorKind;
use pyo3::exceptions::{PyRecursionError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::error::exception;
use crate::foreign;

/// How deep lists and dicts may nest; the same as for lines of JSON.
const DEPTH: usize = 128;

/// An object of dicts, lists, tuples, strings, numbers, booleans and None.
///
/// # Errors
/// `InputError` for half a surrogate pair, infinity and NaN; `TypeError` names the type of anything else.
pub(crate) fn to_json(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(object, 0)
}

fn value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH {
        return Err(PyRecursionError::new_err(format!("lists and dicts nest deeper than {DEPTH}")));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(self::text(text)?.into_owned()));
    }
    if let Ok(is) = object.cast::<PyBool>() {
        return Ok(Value::Bool(is.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return float(object.py(), number.value());
    }
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|item| value(&item, depth + 1)).collect();
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter().map(|item| value(&item, depth + 1)).collect();
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut map = Map::with_capacity(dict.len());
        for (key, item) in dict.iter() {
            map.insert(key_of(&key)?, value(&item, depth + 1)?);
        }
        return Ok(Value::Object(map));
    }
    other(object, depth)
}

/// What is like one of these: another mapping, or an object of another library.
fn other(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let mut map = Map::new();
        for pair in mapping.items()?.iter() {
            let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            map.insert(key_of(&key)?, value(&item, depth + 1)?);
        }
        return Ok(Value::Object(map));
    }
    if let Some(plain) = foreign::plain(object)? {
        return value(&plain, depth + 1);
    }
    let name = object.get_type().qualname()?;
    Err(PyTypeError::new_err(format!("expected dicts, lists, strings, numbers, booleans or None, not {name}")))
}

fn key_of(key: &Bound<'_, PyAny>) -> PyResult<String> {
    match key.cast::<PyString>() {
        Ok(key) => Ok(text(key)?.into_owned()),
        Err(_) => {
            let name = key.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("the keys of dicts must be strings, not {name}")))
        }
    }
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(number.into());
    }
    match object.extract::<u64>() {
        Ok(number) => Ok(number.into()),
        // As in JSON.
        Err(_) => float(object.py(), object.extract().unwrap_or(f64::INFINITY)),
    }
}

fn float(py: Python<'_>, number: f64) -> PyResult<Value> {
    let number = Number::from_f64(number).map(Value::Number);
    number.ok_or_else(|| {
        exception(py, &ErrorKind::Conversation("a number must be neither infinite nor NaN".into()).into())
    })
}

/// The text of a string.
///
/// # Errors
/// `InputError` if it has half a surrogate pair.
pub(crate) fn text<'a>(string: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    string.to_cow().map_err(|error| {
        let what = format!("a string is not text: {}", error.value(string.py()));
        let way_out = "replace it, for example by text.encode(\"utf-8\", \"replace\").decode()";
        exception(string.py(), &ErrorKind::Conversation(what).with_way_out(way_out))
    })
}
