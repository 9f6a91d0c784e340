//! Values as Python writes them: `str` of numbers, `repr` of lists and dicts, and `json.dumps`.

use std::fmt::Write;

use minijinja::Value;
use minijinja::value::ValueKind;

use crate::dialect::chat_template::float::as_number;
use crate::dialect::chat_template::marks::{is_mark, without_marks};
use crate::python_repr::{float, quoted};

/// How deep values are written, and how long their text may get: those of templates may contain themselves, or much twice.
const DEEPEST: usize = 200;
const LONGEST: usize = 1 << 26;

/// A value as `repr` writes it in a list or dict. What is within itself is `...`, as in Python.
pub(super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(value, 0, &mut out);
    out
}

fn write_repr(value: &Value, depth: usize, out: &mut String) {
    if depth > DEEPEST || out.len() > LONGEST {
        out.push_str("...");
        return;
    }
    match kind(value) {
        ValueKind::String => quoted(value.as_str().unwrap_or_default(), is_mark, out),
        ValueKind::Number if !value.is_integer() => {
            out.push_str(&f64::try_from(value.clone()).map(float).unwrap_or_default());
        }
        ValueKind::Map => {
            let [open, close] = if is_namespace(value) { ["<Namespace {", "}>"] } else { ["{", "}"] };
            out.push_str(open);
            for (i, (key, item)) in pairs(value).enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                if out.len() > LONGEST {
                    break;
                }
                write_repr(&key, depth + 1, out);
                out.push_str(": ");
                write_repr(&item, depth + 1, out);
            }
            out.push_str(close);
        }
        ValueKind::Seq => {
            let (open, close) = if value.is_tuple() { ('(', ')') } else { ('[', ']') };
            out.push(open);
            for (i, item) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                if out.len() > LONGEST {
                    break;
                }
                write_repr(&item, depth + 1, out);
            }
            out.push_str(if value.is_tuple() && value.len() == Some(1) { "," } else { "" });
            out.push(close);
        }
        ValueKind::Undefined => out.push_str("Undefined"),
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

/// The kind of a value as Python has it: parts and sums of lists are lists, and what comes one by one is none.
pub(super) fn kind(value: &Value) -> ValueKind {
    match value.kind() {
        ValueKind::Iterable if value.len().is_some() => ValueKind::Seq,
        kind => kind,
    }
}

/// The keys and values of a dict. Not key by key: each would be looked for from the beginning.
pub(super) fn pairs(dict: &Value) -> impl Iterator<Item = (Value, Value)> {
    dict.as_object().and_then(|dict| dict.try_iter_pairs()).into_iter().flatten()
}

/// Whether a value is what `namespace()` gives, which Jinja here takes for a dict.
pub(super) fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// The layout of JSON, with the defaults of `json.dumps`.
#[derive(Debug, Clone)]
pub(super) struct JsonStyle {
    pub(super) indent: Option<String>,
    pub(super) item_separator: String,
    pub(super) key_separator: String,
    pub(super) sort_keys: bool,
    pub(super) ensure_ascii: bool,
}

/// A value as `json.dumps` writes it.
///
/// # Errors
/// What of it is not JSON.
pub(super) fn json(value: &Value, style: &JsonStyle) -> Result<String, String> {
    let mut out = String::new();
    write_json(value, style, 0, &mut out)?;
    Ok(out)
}

fn write_json(value: &Value, style: &JsonStyle, depth: usize, out: &mut String) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("the value is nested too deeply".into());
    }
    if out.len() > LONGEST {
        return Err("the JSON of the value is too long".into());
    }
    let value = &as_number(value);
    match kind(value) {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number if value.is_integer() => {
            let _ = write!(out, "{value}");
        }
        ValueKind::Number => {
            let number = f64::try_from(value.clone()).map_err(|error| error.to_string())?;
            out.push_str(&match number {
                number if number.is_finite() => float(number),
                number if number.is_nan() => "NaN".to_owned(),
                number if number > 0.0 => "Infinity".to_owned(),
                _ => "-Infinity".to_owned(),
            });
        }
        ValueKind::String => write_json_string(value.as_str().unwrap_or_default(), style, out),
        ValueKind::Map if is_namespace(value) => {
            return Err("Object of type Namespace is not JSON serializable".into());
        }
        ValueKind::Map => {
            let mut entries: Vec<(Value, Value)> = pairs(value).collect();
            if style.sort_keys {
                entries.sort_by_cached_key(|(key, _)| {
                    let text = key.as_str().map(|text| Value::from(&*without_marks(text)));
                    text.unwrap_or_else(|| key.clone())
                });
            }
            let entries = entries.into_iter().map(|(key, item)| (item, Some(key)));
            container(['{', '}'], entries, style, depth, out)?;
        }
        ValueKind::Seq => {
            let items = value.try_iter().map_err(|error| error.to_string())?.map(|item| (item, None));
            container(['[', ']'], items, style, depth, out)?;
        }
        _ if value.is_undefined() => return Err("Object of type Undefined is not JSON serializable".into()),
        kind => return Err(format!("a value of type {kind} is not JSON serializable")),
    }
    Ok(())
}

fn container(
    [open, close]: [char; 2],
    entries: impl Iterator<Item = (Value, Option<Value>)>,
    style: &JsonStyle,
    depth: usize,
    out: &mut String,
) -> Result<(), String> {
    out.push(open);
    let mut is_empty = true;
    for (item, key) in entries {
        if !std::mem::take(&mut is_empty) {
            out.push_str(&style.item_separator);
        }
        new_line(style, depth + 1, out);
        if let Some(key) = key {
            match key.as_str() {
                Some(key) => write_json_string(key, style, out),
                None => {
                    out.push('"');
                    write_json(&key, style, depth, out)?;
                    out.push('"');
                }
            }
            out.push_str(&style.key_separator);
        }
        write_json(&item, style, depth + 1, out)?;
    }
    if !is_empty {
        new_line(style, depth, out);
    }
    out.push(close);
    Ok(())
}

fn new_line(style: &JsonStyle, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str(indent));
    }
}

fn write_json_string(text: &str, style: &JsonStyle, out: &mut String) {
    out.push('"');
    let mut units = [0; 2];
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if style.ensure_ascii && !(' '..='~').contains(&c) && !is_mark(c) => {
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::chat_template::values::Values;

    #[test]
    fn every_key_of_a_dict_is_read_once() {
        let entries = (0..100_000).map(|key| (key.to_string(), serde_json::Value::Null)).collect();
        let dict = Values { owner: None }.of(&serde_json::Value::Object(entries));
        let style = JsonStyle {
            indent: None,
            item_separator: ", ".into(),
            key_separator: ": ".into(),
            sort_keys: true,
            ensure_ascii: true,
        };
        let json = json(&dict, &style).expect("it is JSON");
        assert!(json.starts_with("{\"0\": null, \"1\": null, \"10\": null"));
        assert!(repr(&dict).starts_with("{'0': None, '1': None, '2': None"));
    }
}
