//! Content parts, filled from the rows as the reference should do it.

use serde_json::Value;

use crate::rules::messages::parts_in_dialogue;

/// The row that each content part of a prompt is filled from, in their order: those of the examples, then those of the
/// row, or of each turn in it.
pub(super) fn rows_of_parts(job: &Value) -> Vec<Value> {
    let list = |key: &str| job[key].as_array().cloned().unwrap_or_default();
    let config = &job["prompt_template"];
    let has_turns = config["type"] == "MultiTurnPromptTemplate";
    let mut rows = Vec::new();
    for mut row in list("rows") {
        let Some(columns) = row.as_object_mut() else { continue };
        if !has_turns {
            // The answer is masked.
            let answer = job["reader_cfg"]["output_column"].as_str();
            if let Some(answer) = answer.and_then(|column| columns.get_mut(column)) {
                *answer = "".into();
            }
            rows.push(row);
            continue;
        }
        let turns = columns.values().filter_map(Value::as_array).map(Vec::len).max().unwrap_or(1);
        let of_turn =
            |i: usize| columns.iter().map(move |(name, value)| (name.clone(), value.get(i).unwrap_or(value).clone()));
        rows.extend((0..turns).map(|i| Value::Object(of_turn(i).collect())));
    }
    let repeated = |rows: Vec<Value>, config: &Value| {
        let parts: usize = parts_in_dialogue(config).into_iter().filter_map(Value::as_array).map(Vec::len).sum();
        rows.into_iter().flat_map(move |row| std::iter::repeat_n(row, parts))
    };
    repeated(list("examples"), &job["ice_template"]).chain(repeated(rows, config)).collect()
}

/// What is recorded, with each content part filled from its row.
pub(super) fn with_filled_parts(recorded: &Value, rows: &mut dyn Iterator<Item = Value>) -> Value {
    match recorded {
        Value::Array(items) => items
            .iter()
            .map(|item| match item.get("type") {
                Some(_) => rows.next().map_or_else(|| item.clone(), |row| filled(item, &row)),
                None => with_filled_parts(item, rows),
            })
            .collect(),
        Value::Object(keys) => {
            // A fallback role that is null is none.
            let keys = keys.iter().filter(|(key, value)| *key != "fallback_role" || !value.is_null());
            Value::Object(keys.map(|(key, value)| (key.clone(), with_filled_parts(value, rows))).collect())
        }
        other => other.clone(),
    }
}

/// A content part with the columns of a row for its fields.
fn filled(part: &Value, row: &Value) -> Value {
    match part {
        Value::String(text) => {
            let (mut filled, mut rest) = (String::new(), text.as_str());
            while let Some((before, after)) = rest.split_once('{') {
                filled += before;
                let field = after.split_once('}').and_then(|(name, after)| Some((row.get(name)?, after)));
                match field {
                    Some((value, _)) => filled += &value.as_str().map_or_else(|| value.to_string(), str::to_owned),
                    None => filled.push('{'),
                }
                rest = field.map_or(after, |(_, after)| after);
            }
            (filled + rest).into()
        }
        Value::Array(items) => items.iter().map(|item| self::filled(item, row)).collect(),
        Value::Object(keys) => keys.iter().map(|(key, value)| (key.clone(), self::filled(value, row))).collect(),
        other => other.clone(),
    }
}
