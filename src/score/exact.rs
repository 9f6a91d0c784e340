//! Parts of a line that are read as they are written: integers of any size keep their digits.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use crate::dataset::{Row, Value};
use crate::input::without_escapes;

/// The columns that were kept.
pub(super) fn columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Row>, D::Error> {
    each(deserializer, |json| match json.starts_with('{') {
        true => Row::from_json(json).map_err(Error::custom),
        false => Err(Error::custom("columns: expected an object")),
    })
}

/// A value.
pub(super) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    each(deserializer, |json| Value::from_json(json).map_err(Error::custom))
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
