//! Plain Python objects as JSON.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use metatok::error::{Error, ErrorKind, Place};
use pyo3::exceptions::{PyRecursionError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::error::exception;
use crate::foreign;

/// How deep lists and dicts may nest; the same as for lines of JSON.
const DEPTH: usize = 128;

/// An object of dicts, lists, tuples, strings, numbers, booleans and None.
///
/// # Errors
/// `InputError` for half a surrogate pair, infinity and NaN; `TypeError` names the type of anything else. Both say where.
pub(crate) fn to_json(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(object, 0).map_err(|failed| failed.raise(object.py()))
}

/// Options, or what a whole dialogue shares, as JSON: objects as in [`to_json`].
///
/// # Errors
/// `UsageError` in place of `InputError`.
pub(crate) fn options_to_json(options: &Bound<'_, PyAny>) -> PyResult<Value> {
    value(options, 0).map_err(|failed| failed.of_options().raise(options.py()))
}

/// A record or a row as JSON: an object with keys, some of which have another value `in_place` of their own. What pandas
/// has in place of a missing value is `missing`, or its key is left out. None if it is no such object.
///
/// # Errors
/// As for [`to_json`].
pub(crate) fn keys_to_json(
    object: &Bound<'_, PyAny>,
    missing: Option<Value>,
    in_place: impl Fn(&str, &Bound<'_, PyAny>) -> Option<Value>,
) -> PyResult<Option<Value>> {
    let Some(keys) = keys(object)? else { return Ok(None) };
    let entry = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key = key_of(&key)?;
        if is_missing(&item) {
            return Ok(missing.clone().map(|missing| (key, missing)));
        }
        let item = match in_place(&key, &item) {
            Some(other) => other,
            None => value(&item, 1).map_err(|failed| failed.within(&format!(".{key}")))?,
        };
        Ok(Some((key, item)))
    };
    let map = keys.iter().filter_map(|pair| entry(pair).transpose()).collect::<Result<_, Failed>>();
    map.map(|map| Some(Value::Object(map))).map_err(|failed| failed.raise(object.py()))
}

/// The dict that an object is, or stands for.
fn keys<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if let Ok(dict) = object.cast::<PyDict>() {
        return Ok(Some(dict.clone()));
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        return PyDict::from_sequence(mapping.items()?.as_any()).map(Some);
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    Ok(foreign::plain(object)?.and_then(|plain| plain.cast_into::<PyDict>().ok()))
}

/// What pandas has where a table has no value.
fn is_missing(value: &Bound<'_, PyAny>) -> bool {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyList>() || value.is_instance_of::<PyDict>() {
        return false;
    }
    match value.cast::<PyFloat>() {
        Ok(number) => number.value().is_nan(),
        Err(_) => value.get_type().name().is_ok_and(|name| name == "NAType" || name == "NaTType"),
    }
}

/// Why an object is not JSON, and where.
struct Failed {
    /// From the object to what is wrong in it, such as `.messages[0].content`.
    path: String,
    why: Why,
}

enum Why {
    Type(String),
    Error(Error),
    Python(PyErr),
}

impl From<Why> for Failed {
    fn from(why: Why) -> Self {
        Self { path: String::new(), why }
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Why::Python(error).into()
    }
}

impl Failed {
    fn within(self, step: &str) -> Self {
        Self { path: format!("{step}{}", self.path), ..self }
    }

    fn of_options(self) -> Self {
        let why = match self.why {
            Why::Error(error) => match error.kind() {
                ErrorKind::Conversation(what) => Why::Error(ErrorKind::Usage(what.clone()).into()),
                _ => Why::Error(error),
            },
            why => why,
        };
        Self { why, ..self }
    }

    fn raise(self, py: Python<'_>) -> PyErr {
        match self.why {
            Why::Type(what) => {
                let places: Vec<String> = places(&self.path).map(|place| format!("{place}: ")).collect();
                PyTypeError::new_err(places.concat() + &what)
            }
            Why::Error(error) => exception(py, &places(&self.path).rev().fold(error, Error::at)),
            Why::Python(error) => error,
        }
    }
}

/// The message that a path leads to, if it does, and the rest of it.
fn places(path: &str) -> impl DoubleEndedIterator<Item = Place> {
    let numbered = path.strip_prefix(".messages").unwrap_or(path).strip_prefix('[');
    let message = numbered.and_then(|rest| {
        let (number, rest) = rest.split_once(']')?;
        Some((Place::Message(number.parse().ok()?), rest))
    });
    let (message, rest) = message.map_or((None, path), |(message, rest)| (Some(message), rest));
    let key = rest.strip_prefix('.').unwrap_or(rest);
    message.into_iter().chain((!key.is_empty()).then(|| Place::Key(key.to_owned())))
}

fn value(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Failed> {
    if depth > DEPTH {
        return Err(PyRecursionError::new_err(format!("lists and dicts nest deeper than {DEPTH}")).into());
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text_of(text)?.into_owned()));
    }
    if let Ok(is) = object.cast::<PyBool>() {
        return Ok(Value::Bool(is.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return float(number.value());
    }
    if let Ok(list) = object.cast::<PyList>() {
        return items(list.iter(), depth);
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return items(tuple.iter(), depth);
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut map = Map::with_capacity(dict.len());
        // Rows of a table have all keys that any message has.
        let is_message = dict.contains(intern!(object.py(), "role"))?;
        for (key, item) in dict.iter().filter(|(_, item)| !is_message || !is_missing(item)) {
            insert(&mut map, &key, &item, depth)?;
        }
        return Ok(Value::Object(map));
    }
    other(object, depth)
}

fn items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> Result<Value, Failed> {
    let value = |(i, item)| value(&item, depth + 1).map_err(|failed| failed.within(&format!("[{i}]")));
    items.enumerate().map(value).collect()
}

fn insert(
    map: &mut Map<String, Value>,
    key: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
    depth: usize,
) -> Result<(), Failed> {
    let key = key_of(key)?;
    let item = match item.cast::<PyBytes>() {
        // Of an image, audio or video, as `datasets` has it.
        Ok(bytes) if key == "bytes" => Value::String(STANDARD.encode(bytes.as_bytes())),
        _ => value(item, depth + 1).map_err(|failed| failed.within(&format!(".{key}")))?,
    };
    map.insert(key, item);
    Ok(())
}

/// What is like one of these: another mapping, or an object of another library.
fn other(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Failed> {
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let mut map = Map::new();
        for pair in mapping.items()?.iter() {
            let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            insert(&mut map, &key, &item, depth)?;
        }
        return Ok(Value::Object(map));
    }
    if let Some(plain) = foreign::plain(object)? {
        return value(&plain, depth + 1);
    }
    if is_written_as_text(object)? {
        return Ok(Value::String(text_of(&object.str()?)?.into_owned()));
    }
    let name = object.get_type().qualname()?;
    Err(Why::Type(format!("expected dicts, lists, strings, numbers, booleans or None, not {name}")).into())
}

/// Whether an object is a time, a path, a decimal or a UUID, which everybody writes as text.
fn is_written_as_text(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let name = object.get_type().name()?;
    Ok(name == "Decimal"
        || name == "UUID"
        || object.hasattr(intern!(py, "isoformat"))?
        || object.hasattr(intern!(py, "__fspath__"))?)
}

fn key_of(key: &Bound<'_, PyAny>) -> Result<String, Failed> {
    match key.cast::<PyString>() {
        Ok(key) => Ok(text_of(key)?.into_owned()),
        Err(_) => {
            let name = key.get_type().qualname()?;
            Err(Why::Type(format!("the keys of dicts must be strings, not {name}")).into())
        }
    }
}

fn integer(object: &Bound<'_, PyAny>) -> Result<Value, Failed> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(number.into());
    }
    match object.extract::<u64>() {
        Ok(number) => Ok(number.into()),
        // As in JSON.
        Err(_) => float(object.extract().unwrap_or(f64::INFINITY)),
    }
}

fn float(number: f64) -> Result<Value, Failed> {
    let number = Number::from_f64(number).map(Value::Number);
    let what = "a number must be neither infinite nor NaN";
    number.ok_or_else(|| Why::Error(ErrorKind::Conversation(what.into()).into()).into())
}

/// The text of a string.
///
/// # Errors
/// `InputError` if it has half a surrogate pair.
pub(crate) fn text<'a>(string: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    text_of(string).map_err(|failed| failed.raise(string.py()))
}

fn text_of<'a>(string: &'a Bound<'_, PyString>) -> Result<Cow<'a, str>, Failed> {
    string.to_cow().map_err(|error| {
        let what = format!("a string is not text: {}", error.value(string.py()));
        let way_out = "replace it, for example by text.encode(\"utf-8\", \"replace\").decode()";
        Why::Error(ErrorKind::Conversation(what).with_way_out(way_out)).into()
    })
}
