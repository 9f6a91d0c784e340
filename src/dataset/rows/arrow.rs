//! Rows as Hugging Face `datasets` returns them: both references read rows with it, and it changes some.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::dataset::rows::{Row, Value};

/// The columns that are added to all rows: which part of the dataset a row is of, and its number there.
pub(crate) const ADDED: [&str; 2] = ["subdivision", "idx"];

/// Rows as returned by `Dataset.from_list`: the columns are those of the first row, missing values are `None`, integers and booleans
/// in a column with fractions become fractions, and all dicts of a column have the same keys. `subdivision` and `idx`
/// are added, as in both references. A row still tells which of its columns was [repeated](Row::repeated).
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
        let mut row = Row::new(own.collect()).repeating(&rows[index]);
        let [of_part, number] = ADDED;
        row.set(of_part, Value::from(subdivision));
        row.set(number, Value::Int(index.to_string()));
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
    let (mut items, mut dicts) = (Vec::new(), Vec::new());
    for value in values.iter_mut() {
        match &mut **value {
            Value::List(list) => items.extend(list),
            Value::Dict(entries) => dicts.push(entries),
            _ => {}
        }
    }
    if !items.is_empty() {
        unify(&mut items);
    }
    unify_dicts(&mut dicts);
}

/// Gives all dicts the same keys, in the order in which these first appear, and the values of a key the same type.
fn unify_dicts(dicts: &mut [&mut Vec<(Value, Value)>]) {
    let mut seen: HashSet<String, RandomState> = HashSet::default();
    let all = dicts.iter().flat_map(|entries| entries.iter());
    let keys: Vec<Value> =
        all.filter(|(key, _)| seen.insert(key.text().into_owned())).map(|(key, _)| key.clone()).collect();
    for entries in dicts.iter_mut() {
        let own = entries.drain(..).map(|(key, value)| (key.text().into_owned(), value));
        let mut own: HashMap<String, Value, RandomState> = own.collect();
        let mut value_of = |key: &Value| own.remove(&*key.text()).unwrap_or(Value::Null);
        **entries = keys.iter().map(|key| (key.clone(), value_of(key))).collect();
    }
    for at in 0..keys.len() {
        unify(&mut dicts.iter_mut().map(|entries| &mut entries[at].1).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row has a key of its own, so that every dict gets all of them.
    #[test]
    fn many_keys_are_unified_in_the_order_in_which_they_appear() {
        const KEYS: usize = 1000;
        let row = |i| Row::from_json(&format!(r#"{{"d": {{"k{i}": {i}, "all": {i}}}}}"#)).expect("it is a row");
        let rows = arrow_rows((0..KEYS).map(row).collect(), "demo_test");
        for (i, row) in rows.iter().enumerate() {
            let Some(Value::Dict(entries)) = row.get("d").map(|value| (*value).clone()) else { panic!("it is a dict") };
            assert_eq!(entries.len(), KEYS + 1);
            assert_eq!(entries[0].0, Value::from("k0"));
            assert_eq!(entries[1], ("all".into(), Value::Int(i.to_string())));
            assert_eq!(entries[KEYS].0, Value::from("k999"));
            assert_eq!(entries.iter().filter(|(_, value)| *value != Value::Null).count(), 2);
        }
    }
}
