//! metatok's own model files: TOML or JSON with `tokenizer`, `special_tokens`, `meta_template`, `stop`.

use serde::de::DeserializeOwned;

use crate::dialect::{Model, Syntax};
use crate::error::{Error, ErrorKind, Result};
use crate::wording;

/// Reads every text: what no other dialect recognizes must be one of these.
pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    Some(match syntax {
        Syntax::Toml => from_toml(text),
        Syntax::Json => from_json(text),
    })
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| at_path(error.path(), wording::in_file(error.inner())))?;
    json.end().map_err(|error| wording::in_file(&error))?;
    Ok(value)
}

pub(crate) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    let describe = |error: &toml::de::Error| match error.span() {
        Some(span) => format!("{} (line {})", wording::plain(error.message().trim_end()), line_of(text, span.start)),
        None => wording::plain(error.message()),
    };
    let toml = toml::Deserializer::parse(text).map_err(|error| ErrorKind::Parse(describe(&error)))?;
    serde_path_to_error::deserialize(toml)
        .map_err(|error| at_path(error.path(), ErrorKind::Invalid(describe(error.inner()))))
}

fn at_path(path: &serde_path_to_error::Path, kind: ErrorKind) -> Error {
    let error = Error::from(kind);
    if path.iter().next().is_none() { error } else { error.at(wording::key_path(path)) }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
