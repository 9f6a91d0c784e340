//! A bare OpenCompass `meta_template` as JSON: the dict that stands in a Python model configuration.

use serde_json::Value;

use crate::dialect::{Model, Syntax, model_file};
use crate::error::{At, ErrorKind, Result};
use crate::template::MetaTemplate;

pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    if syntax != Syntax::Json {
        return None;
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        // No dialect reads what is not JSON.
        Err(error) => return Some(Err(ErrorKind::Parse(error.to_string()).into())),
    };
    match value {
        // What OpenCompass takes for no template at all.
        Value::Null => Some(Ok(Model::default())),
        Value::Object(keys) if keys.is_empty() => Some(Ok(Model::default())),
        Value::Object(keys)
            if ["round", "begin", "end", "reserved_roles", "eos_token_id"]
                .iter()
                .any(|key| keys.contains_key(*key)) =>
        {
            let template = model_file::from_json::<MetaTemplate>(text).at("meta_template");
            Some(template.map(|template| Model { meta_template: Some(template), ..Model::default() }))
        }
        Value::Array(items) => Some(Err(list(&items).into())),
        _ => None,
    }
}

fn list(items: &[Value]) -> ErrorKind {
    ErrorKind::Parse(match items {
        [Value::Object(keys)] if keys.contains_key("round") => {
            "a list of one meta template, which a comma after it makes in Python; give the template itself".into()
        }
        _ => "a list of messages is a meta template for API models, which have no token ids; give one with a \"round\""
            .into(),
    })
}
