//! Filling `{column}` fields.

use std::borrow::Cow;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::dataset::row::Fields;

/// How fields are filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Substitution {
    /// One column after the other, in the row's order, as the references do it: what a column brings
    /// in is searched for the columns behind it.
    #[default]
    Sequential,
    /// Every field of the template once: what is brought in is never searched.
    SinglePass,
}

/// Fills a text.
pub(crate) fn fill<'t>(text: &'t str, fields: Fields<'_>, how: Substitution) -> Cow<'t, str> {
    match how {
        _ if !text.contains('{') => text.into(),
        Substitution::Sequential => sequential(text, fields),
        Substitution::SinglePass => single_pass(text, fields).into(),
    }
}

fn sequential<'t>(text: &'t str, fields: Fields<'_>) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    let mut field = String::new();
    for (name, value) in fields.iter() {
        field.clear();
        field.extend(["{", name, "}"]);
        if memmem::find(text.as_bytes(), field.as_bytes()).is_some() {
            text = text.replace(&field, &value.text()).into();
        }
    }
    text
}

fn single_pass(text: &str, fields: Fields<'_>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let field = fields.iter().find_map(|(name, value)| {
            let behind = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, behind))
        });
        match field {
            Some((value, behind)) => {
                filled.push_str(&value.text());
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::row::Row;

    #[test]
    fn both_ways() {
        let row = Row::from_json(r#"{"a": "{b}{a}", "b": 1.0, "": "none", "a b": null}"#).expect("it is a row");
        let fields = Fields::new(&row);
        for (text, in_order, once) in [
            ("{a}|{b}", "1.0{a}|1.0", "{b}{a}|1.0"),
            ("{{b}} {c} {b!r} { b}", "{1.0} {c} {b!r} { b}", "{1.0} {c} {b!r} { b}"),
            ("{}{a b}", "noneNone", "noneNone"),
            ("{", "{", "{"),
        ] {
            assert_eq!(fill(text, fields, Substitution::Sequential), in_order, "{text}");
            assert_eq!(fill(text, fields, Substitution::SinglePass), once, "{text}");
        }
    }
}
