//! A JSON object that is read key by key; its values are not parsed before.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::server::EngineAnswer;
use crate::wording;

/// An object: its keys in order, each with its value as written.
#[derive(Debug)]
pub(super) struct RawObject<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawObject<'a> {
    pub(super) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// A value; none if it is null. If a key occurs twice, this is the last value.
    pub(super) fn raw(&self, key: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name == key)?;
        (value.get() != "null").then_some(value)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The error in the value, at its key.
    pub(super) fn get<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>> {
        self.raw(key).map(|value| serde_json::from_str(value.get()).map_err(|_| wrong::<T>(value, key))).transpose()
    }

    /// A value that metatok writes; none if it has another form. Files of others may have other things under its name.
    pub(super) fn get_own<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        self.raw(key).and_then(|value| serde_json::from_str(value.get()).ok())
    }

    /// The keys that a line may have in any format.
    pub(super) fn answer(&self) -> Result<EngineAnswer<'a>> {
        Ok(EngineAnswer {
            id: self.raw("id").map(Cow::Borrowed),
            repeat: self.get("repeat")?,
            turn: self.get("turn")?,
            choice: self.get_own("choice"),
            columns: self.raw("columns"),
            input_ids: self.get("input_ids")?,
            ..EngineAnswer::default()
        })
    }
}

/// The error in a value, and its place. Finding the place is slow, but errors are rare.
fn wrong<'a, T: Deserialize<'a>>(value: &'a RawValue, key: &str) -> Error {
    let mut json = serde_json::Deserializer::from_str(value.get());
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => Error::from(ErrorKind::Invalid("the value does not have the expected form".into())).at(key),
        Err(error) => {
            let place = match wording::key_path(error.path()) {
                None => key.to_owned(),
                Some(path) if path.starts_with('[') => format!("{key}{path}"),
                Some(path) => format!("{key}.{path}"),
            };
            Error::from(wording::in_value(error.inner())).at(place)
        }
    }
}

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
                let mut keys = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    keys.push((key, map.next_value()?));
                }
                Ok(RawObject(keys))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
