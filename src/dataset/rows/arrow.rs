//! Rows as Hugging Face `datasets` returns them: both references read rows with it, and it changes some.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::dataset::rows::{Row, Value};

/// Rows as returned by `Dataset.from_list`: the columns are those of the first row, missing values are `None`, integers and booleans
/// in a column with fractions become fractions, and all dicts of a column have the same keys. `subdivision` and `idx`
/// are added, as in both references.
///
/// ```
/// use metatok::dataset::rows::arrow_rows;
/// use metatok::Row;
///
/// let rows = [r#"{"a": 1, "b": "x"}"#, r#"{"a": 0.5, "c": 2}"#].map(|json| Row::from_json(json).unwrap());
/// let rows = arrow_rows(rows.to_vec(), "demo_test");
/// assert_eq!(rows[0].get("a").unwrap().text(), "1.0");
/// assert_eq!(rows[1].get("b").unwrap().text(), "None");
/// assert_eq!(rows[1].names().collect::<Vec<_>>(), ["a", "b", "subdivision", "idx"]);
/// ```
pub fn arrow_rows(rows: Vec<Row>, subdivision: &str) -> Vec<Row> {
    let names: Vec<String> = rows.first().into_iter().flat_map(Row::names).map(str::to_owned).collect();
    let mut columns: Vec<Vec<Value>> = Vec::with_capacity(names.len());
    let known: Vec<HashMap<&str, &Value, RandomState>> = rows.iter().map(|row| row.iter().collect()).collect();
    for name in &names {
        let value =
            |row: &HashMap<&str, &Value, _>| row.get(name.as_str()).map_or(Value::Null, |value| (*value).clone());
        let mut column: Vec<Value> = known.iter().map(value).collect();
        unify(&mut column.iter_mut().collect::<Vec<_>>());
        columns.push(column);
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let row = |index: usize| {
        let own =
            names.iter().zip(&mut columns).map(|(name, column)| (name.clone(), column.next().unwrap_or(Value::Null)));
        let mut row = Row::new(own.collect());
        row.set("subdivision", Value::from(subdivision));
        row.set("idx", Value::Int(index.to_string()));
        row
    };
    (0..rows.len()).map(row).collect()
}

/// Converts the values of one column to the same type, if they differ in numbers and keys.
fn unify(values: &mut [&mut Value]) {
    let any = |is: fn(&Value) -> bool| values.iter().any(|value| is(value));
    if any(|value| matches!(value, Value::Float(_))) {
        for value in values.iter_mut() {
            match &**value {
                Value::Int(digits) => **value = Value::Float(digits.parse().unwrap_or(f64::NAN)),
                Value::Bool(is_true) => **value = Value::Float(f64::from(*is_true)),
                _ => {}
            }
        }
    }
    let mut items: Vec<&mut Value> = Vec::new();
    let mut keys: Vec<Value> = Vec::new();
    for value in values.iter() {
        if let Value::Dict(entries) = &**value {
            for (key, _) in entries {
                if !keys.iter().any(|known| known.equals(key)) {
                    keys.push(key.clone());
                }
            }
        }
    }
    for value in values.iter_mut() {
        match &mut **value {
            Value::List(list) => items.extend(list),
            Value::Dict(entries) => {
                let value_of = |key: &Value| {
                    let found = entries.iter().find(|(known, _)| known.equals(key));
                    found.map_or(Value::Null, |(_, value)| value.clone())
                };
                *entries = keys.iter().map(|key| (key.clone(), value_of(key))).collect();
            }
            _ => {}
        }
    }
    if !items.is_empty() {
        unify(&mut items);
    }
    for key in &keys {
        let of_key = values.iter_mut().filter_map(|value| match &mut **value {
            Value::Dict(entries) => entries.iter_mut().find(|(known, _)| known.equals(key)).map(|(_, value)| value),
            _ => None,
        });
        unify(&mut of_key.collect::<Vec<_>>());
    }
}
