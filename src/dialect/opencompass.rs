//! A bare OpenCompass `meta_template` as JSON: the dict that stands in a Python model configuration.

use serde_json::Value;

use crate::dialect::{Model, Syntax, model_file};
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
        // No dialect reads what is not JSON.
        Err(error) => return Some(Err(wording::in_file(&error).into())),
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
            Some(template(text, &keys).at("meta_template"))
        }
        Value::Array(items) => Some(list(text, &items)),
        _ => None,
    }
}

fn template(text: &str, keys: &serde_json::Map<String, Value>) -> Result<Model> {
    let roles = ["round", "reserved_roles"].into_iter().filter_map(|key| keys.get(key)?.as_array()).flatten();
    let is_for_api = roles.into_iter().any(|role| role.get("api_role").is_some());
    let api_template = is_for_api.then(|| model_file::from_json(text)).transpose()?;
    // What an API's conversations open with is a turn, which has no token ids.
    let opens_with_turn = keys.get("begin").is_some_and(Value::is_object);
    let meta_template = match is_for_api && opens_with_turn {
        true => None,
        false => Some(model_file::from_json::<MetaTemplate>(text)?),
    };
    Ok(Model { meta_template, api_template: api_template.map(Box::new).map(ApiTemplate::Roles), ..Model::default() })
}

fn list(text: &str, items: &[Value]) -> Result<Model> {
    if let [Value::Object(keys)] = items
        && keys.contains_key("round")
    {
        let what = "a list of one meta template, which a comma after it makes in Python; give the template itself";
        return Err(ErrorKind::Parse(what.into()).into());
    }
    let messages = model_file::from_json(text).at("meta_template")?;
    Ok(Model { api_template: Some(ApiTemplate::Messages(messages)), ..Model::default() })
}
