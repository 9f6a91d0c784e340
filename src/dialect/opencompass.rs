//! A bare OpenCompass `meta_template` as JSON: the dict from a Python model configuration.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::dialect::Model;
use crate::dialect::syntax::{Syntax, from_json};
use crate::error::{At, ErrorKind, Result};
use crate::render::ApiTemplate;
use crate::template::MetaTemplate;
use crate::wording;

pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    if syntax != Syntax::Json {
        return None;
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        // No dialect reads text that is not JSON, and those after this one would say less about it.
        Err(error) => return Some(Err(wording::in_file(&error).into())),
    };
    match value {
        // OpenCompass treats this as no template at all.
        Value::Null => Some(Ok(Model::default())),
        Value::Object(keys) if keys.is_empty() => Some(Ok(Model::default())),
        Value::Object(keys) if keys.keys().any(|key| is_or_means_a_key(key)) => {
            Some(template(&File::Bare(text), &keys))
        }
        Value::Array(items) if items.is_empty() => Some(Ok(Model::default())),
        Value::Array(items) => Some(check_no_tuple(&items).and_then(|()| list(&File::Bare(text)))),
        _ => None,
    }
}

/// Whether this is a key of a meta template, or a misspelt one.
fn is_or_means_a_key(key: &str) -> bool {
    ["round", "begin", "end", "reserved_roles", "eos_token_id"].contains(&key)
        || ["round", "reserved_roles"].into_iter().any(|known| wording::is_one_typo(key, known))
}

/// The `meta_template` of the model dict in a file.
pub(super) fn in_dict(text: &str, value: &Value) -> Result<Model> {
    match value {
        Value::Object(keys) if !keys.is_empty() => template(&File::Dict(text), keys),
        Value::Array(items) if !items.is_empty() => {
            check_no_tuple(items).at("meta_template")?;
            list(&File::Dict(text))
        }
        Value::Null | Value::Object(_) | Value::Array(_) => Ok(Model::default()),
        _ => Err(ErrorKind::Invalid("a meta template must be a dict with \"round\"".into())).at("meta_template"),
    }
}

/// The text of a file that contains a meta template: alone, or in a model dict.
enum File<'t> {
    Bare(&'t str),
    Dict(&'t str),
}

#[derive(Deserialize)]
struct Dict<T> {
    meta_template: T,
}

impl File<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        match self {
            Self::Bare(text) => from_json(text).at("meta_template"),
            Self::Dict(text) => Ok(from_json::<Dict<T>>(text)?.meta_template),
        }
    }
}

fn template(file: &File<'_>, keys: &serde_json::Map<String, Value>) -> Result<Model> {
    let roles = ["round", "reserved_roles"].into_iter().filter_map(|key| keys.get(key)?.as_array()).flatten();
    let is_for_api = roles.into_iter().any(|role| role.get("api_role").is_some());
    let api_template = is_for_api.then(|| file.read()).transpose()?;
    // The opening of an API's conversations is a turn, which has no token ids.
    let opens_with_turn = keys.get("begin").is_some_and(Value::is_object);
    let meta_template = match is_for_api && opens_with_turn {
        true => None,
        false => Some(file.read::<MetaTemplate>()?),
    };
    Ok(Model { meta_template, api_template: api_template.map(Box::new).map(ApiTemplate::Roles), ..Model::default() })
}

fn check_no_tuple(items: &[Value]) -> Result<()> {
    match items {
        [Value::Object(keys)] if keys.contains_key("round") => {
            let what = "a list of one meta template (in Python, from a comma after the dict)";
            Err(ErrorKind::Invalid(what.into()).with_way_out("write the template itself"))
        }
        _ => Ok(()),
    }
}

fn list(file: &File<'_>) -> Result<Model> {
    Ok(Model { api_template: Some(ApiTemplate::Messages(file.read()?)), ..Model::default() })
}
