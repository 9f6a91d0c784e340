//! Parts of a line that are read as they are written: integers of any size keep their digits.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::value::RawValue;

use crate::dataset::{Row, Value};
use crate::input::without_escapes;
use crate::wording;

/// Reads an object that is one line of a file.
pub(super) fn object_from_line<'t, T: Deserialize<'t>>(line: &'t str) -> crate::Result<T> {
    // An error within raw JSON has no column. The line is then read again with ordinary types, whose errors have one.
    let in_place = || wording::object_from_line::<InPlace>(line).err();
    wording::object_from_line(line).map_err(|error| in_place().unwrap_or(error))
}

/// The parts that are read as they are written.
#[derive(Deserialize)]
struct InPlace {
    #[serde(rename = "columns")]
    _columns: Option<BTreeMap<String, Value>>,
    #[serde(rename = "label")]
    _label: Option<Value>,
}

/// The columns that were kept.
pub(super) fn columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Row>, D::Error> {
    each(deserializer, |json| Row::from_json(json).map_err(Error::custom))
}

/// A value, which may be null.
pub(super) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let json = Box::<RawValue>::deserialize(deserializer)?;
    Value::from_json(json.get()).map(Some).map_err(Error::custom)
}

/// An id, as JSON without needless escapes.
pub(super) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    each(deserializer, |json| Ok(without_escapes(json).into_owned()))
}

/// Reads JSON other than null.
fn each<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: impl Fn(&str) -> Result<T, D::Error>,
) -> Result<Option<T>, D::Error> {
    Option::<Box<RawValue>>::deserialize(deserializer)?.map(|json| read(json.get())).transpose()
}
