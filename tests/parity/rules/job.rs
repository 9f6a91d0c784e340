//! The parts of a job that several conditions look at.

use serde_json::{Map, Value};

/// The items of a list of the job.
pub(super) fn listed<'j>(job: &'j Value, key: &str) -> impl Iterator<Item = &'j Value> {
    job[key].as_array().into_iter().flatten()
}

/// The rows of a split: all of them, or some by their numbers.
pub(super) fn split<'j>(job: &'j Value, key: &str) -> impl Iterator<Item = &'j Value> {
    listed(job, key).chain(job[key].as_object().into_iter().flat_map(Map::values))
}

/// The templates of a dataset, and one that is tried by itself.
pub(super) fn templates(job: &Value) -> [&Value; 3] {
    [&job["prompt_template"], &job["ice_template"], &job["kwargs"]]
}

/// The template that makes prompts: that of the examples if there is no other.
pub(super) fn prompting(job: &Value) -> &Value {
    let own = [&job["prompt_template"], &job["ice_template"]].into_iter().find(|config| !config.is_null());
    own.unwrap_or(&Value::Null)
}

/// The chat itself, or those in the columns of rows.
pub(super) fn chats(job: &Value) -> Vec<&Vec<Value>> {
    let columns = split(job, "test").filter_map(Value::as_object);
    let columns = columns.flat_map(Map::values).filter_map(Value::as_array);
    let in_rows = columns.filter(|column| column.iter().all(|message| message.get("role").is_some()));
    job["chat"].as_array().into_iter().chain(in_rows).collect()
}

/// The inferencer that asks, without its module.
pub(super) fn inferencer(job: &Value) -> Option<&str> {
    let kind = &job["inferencer"]["type"];
    kind["$type"].as_str().or(kind.as_str()).and_then(|name| name.rsplit('.').next())
}
