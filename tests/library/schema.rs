//! The part of JSON Schema that says what a server takes.
//!
//! `ignoredProperties` is ours: keys that the server does not know and ignores, and that requests have on purpose.

use serde_json::Value;

/// What is wrong with a value, at its path; nothing where it is as the schema says.
pub(crate) fn validate(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut wrong = |what: String| errors.push(format!("{path}: {what}"));
    if let Some(types) = schema.get("type").filter(|types| !has_type(types, value)) {
        wrong(format!("{value} is not {types}"));
    }
    if let Some(expected) = schema.get("const").filter(|expected| *expected != value) {
        wrong(format!("{value} is not {expected}"));
    }
    if let Some(Value::Array(all)) =
        schema.get("enum").filter(|_| !schema["enum"].as_array().is_some_and(|all| all.contains(value)))
    {
        wrong(format!("{value} is none of {all:?}"));
    }
    if let Some(number) = value.as_f64() {
        let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
        if limit("minimum").is_some_and(|least| number < least)
            || limit("exclusiveMinimum").is_some_and(|below| number <= below)
            || limit("maximum").is_some_and(|most| number > most)
        {
            wrong(format!("{number} is out of range"));
        }
    }
    if let Some(length) = value.as_str().map(str::len).or(value.as_array().map(Vec::len)) {
        let limit = |key: &str| schema.get(key).and_then(Value::as_u64).map(|limit| limit as usize);
        let (least, most) = if value.is_string() { ("minLength", "maxLength") } else { ("minItems", "maxItems") };
        if limit(least).is_some_and(|least| length < least) || limit(most).is_some_and(|most| length > most) {
            wrong(format!("{length} is no length of it"));
        }
    }
    errors.extend(validate_object(schema, value, path));
    errors.extend(validate_list(schema, value, path));
    errors
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => panic!("{name} is no type"),
    };
    types.as_array().map_or_else(|| is(types), |types| types.iter().any(is))
}

fn validate_object(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let Some(object) = value.as_object() else { return Vec::new() };
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing =
        list("required").filter(|key| !object.contains_key(*key)).map(|key| format!("{path}: there is no {key:?}"));
    let mut errors: Vec<String> = missing.collect();
    for (key, value) in object {
        match schema.get("properties").and_then(|properties| properties.get(key)) {
            Some(property) => errors.extend(validate(property, value, &format!("{path}.{key}"))),
            None if schema["additionalProperties"] != false
                || list("ignoredProperties").any(|ignored| ignored == key) => {}
            None => errors.push(format!("{path}: {key:?} is unknown")),
        }
    }
    errors
}

fn validate_list(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let schemas = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(any) = schemas("anyOf").filter(|any| any.iter().all(|schema| !validate(schema, value, path).is_empty()))
    {
        errors.push(format!("{path}: {value} is none of {} kinds", any.len()));
    }
    errors.extend(schemas("allOf").into_iter().flatten().flat_map(|schema| validate(schema, value, path)));
    let Some(items) = value.as_array() else { return errors };
    if let Some(contained) =
        schema.get("contains").filter(|one| !items.iter().any(|item| validate(one, item, path).is_empty()))
    {
        errors.push(format!("{path}: nothing in it is {contained}"));
    }
    if let Some(schema) = schema.get("items") {
        let place = |i: usize| format!("{path}[{i}]");
        errors.extend(items.iter().enumerate().flat_map(|(i, item)| validate(schema, item, &place(i))));
    }
    errors
}
