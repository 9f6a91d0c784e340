//! `METATOK_ACCEPT=1` takes what is found as what is expected from now on, and keeps a file's layout and comments.

use serde::Serialize;
use toml_edit::{DocumentMut, Value};

/// Never where CI is set: a gate compares.
pub(crate) fn is_on() -> bool {
    std::env::var_os("METATOK_ACCEPT").is_some_and(|on| on == "1") && std::env::var_os("CI").is_none()
}

/// The value at a path of keys.
pub(crate) fn value_at<'a>(document: &'a mut DocumentMut, keys: &[&str]) -> Option<&'a mut Value> {
    keys.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key))?.as_value_mut()
}

pub(crate) fn to_value(found: &impl Serialize) -> Value {
    let value = toml::Value::try_from(found).expect("what is expected is TOML already");
    value.to_string().parse().expect("one library reads what the other writes")
}

/// Writes a value over another, part by part where both have the same parts, so that what is equal stays as it is.
pub(crate) fn replace(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            old.iter_mut().zip(new).for_each(|(old, new)| replace(old, new));
        }
        (Value::Array(old), Value::Array(new)) => replace_items(old, new),
        (Value::InlineTable(old), Value::InlineTable(new))
            if old.len() == new.len() && new.iter().all(|(key, _)| old.contains_key(key)) =>
        {
            new.into_iter().for_each(|(key, new)| replace(&mut old[&key], new));
        }
        (old, new) if old.as_str().is_some() && old.as_str() == new.as_str() => {}
        (old, new) => {
            let new = like(old, new);
            let decor = std::mem::take(old.decor_mut());
            *old = new;
            *old.decor_mut() = decor;
        }
    }
}

/// Other items, each on a line of its own where the first one was.
fn replace_items(old: &mut toml_edit::Array, new: toml_edit::Array) {
    let first = old.get(0).map(|item| item.decor().clone());
    old.clear();
    for mut item in new {
        if let Some(decor) = &first {
            *item.decor_mut() = decor.clone();
        }
        old.push_formatted(item);
    }
}

/// A string between the same quotes as the old one, if it can stand there.
fn like(old: &Value, new: Value) -> Value {
    let Some(text) = new.as_str() else { return new };
    let raw = old.to_string();
    let raw = raw.trim();
    let quotes = ["'''\n", "'''", "\"\"\"\n", "\"\"\"", "'", "\""].into_iter().find(|quotes| raw.starts_with(quotes));
    let quoted = quotes.and_then(|quotes| format!("{quotes}{text}{}", quotes.trim_end()).parse::<Value>().ok());
    quoted.filter(|quoted| quoted.as_str() == Some(text)).unwrap_or(new)
}
