//! The languages of files, TOML and JSON, read with the place of any error.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::error::{At, ErrorKind, Place, Result};
use crate::file_kind::{has_extension, without_bom};
use crate::wording;

/// The possible languages of a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    Toml,
}

impl Syntax {
    /// Reads a text; errors name key path and line.
    pub(crate) fn read<T: DeserializeOwned>(self, text: &str) -> Result<T> {
        match self {
            Self::Toml => from_toml(text),
            Self::Json => from_json(text),
        }
    }
}

/// The text of a file and its language, by the file's extension or else by its contents.
pub(super) fn text_of<'t>(name: &str, bytes: &'t [u8]) -> Result<(&'t str, Syntax)> {
    let bytes = without_bom(bytes);
    let path = Path::new(name);
    if has_extension(path, &["py"]) {
        let way_out = "`python examples/opencompass_export.py` writes each of its models and datasets as a file that metatok reads";
        return Err(ErrorKind::WrongFile("a configuration in Python".into())
            .with_way_out(way_out)
            .at(Place::file(name)));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ErrorKind::not_utf8(bytes, error)).at(Place::file(name))?;
    let syntax = match path {
        _ if has_extension(path, &["toml"]) => Syntax::Toml,
        _ if has_extension(path, &["json"]) => Syntax::Json,
        _ if text.trim_start().starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            Syntax::Json
        }
        _ => Syntax::Toml,
    };
    Ok((text, syntax))
}

/// Reads a TOML or JSON file of any kind; errors name file, key path and line.
pub(crate) fn parse_file<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T> {
    let (text, syntax) = text_of(name, bytes)?;
    syntax.read(text).at(Place::file(name))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| wording::at_path(wording::in_file(error.inner()).into(), error.path()))?;
    json.end().map_err(|error| wording::in_file(&error))?;
    Ok(value)
}

fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    // Line ends of Windows within strings, too, as Python's tomllib reads them.
    let text = &text.replace("\r\n", "\n");
    let describe = |error: &toml::de::Error| {
        let message = wording::plain(error.message().trim_end());
        let Some(span) = error.span() else { return message };
        // What toml makes of a date or time is an object.
        let is_date = text.get(span.clone()).is_some_and(|found| found.starts_with(|c: char| c.is_ascii_digit()));
        let message = if is_date { message.replace("found an object", "found a date or time") } else { message };
        format!("{message} (line {})", line_of(text, span.start))
    };
    let toml = toml::Deserializer::parse(text).map_err(|error| ErrorKind::Parse(describe(&error)))?;
    serde_path_to_error::deserialize(toml)
        .map_err(|error| wording::at_path(ErrorKind::Invalid(describe(error.inner())).into(), error.path()))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
