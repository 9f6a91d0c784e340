//! Columns that a dataset file computes from a row's own, so that templates see plain values: `reader_cfg.columns`.

use std::collections::BTreeSet;

use regex::{NoExpand, Regex};
use serde::{Deserialize, Deserializer, de};

use crate::conversation::is_space;
use crate::dataset::python::capitalized;
use crate::dataset::rows::{Fields, Path, Row, Value, whole_number};
use crate::dataset::template::{Filler, Room, Substitution, TemplateField, TemplateText, fields_of_texts};
use crate::dataset::{dataset_error, row_error};
use crate::error::{At, Result};
use crate::wording::is_one_typo;

/// Columns by name, each derived from a row that already has those before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DerivedColumns(Vec<(String, DerivedColumn)>);

/// How a column is derived.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct DerivedColumn {
    /// The path of the value: `choices[0]`, `answer.aliases[0]`, `endings[label]`.
    from: Option<Path>,
    /// A text with fields, instead of a path.
    text: Option<String>,
    /// A list; the value is replaced by its position there.
    index_in: Option<Path>,
    /// Whether a number becomes its letter; 0 is A.
    #[serde(default)]
    letter: bool,
    /// Whether the first character becomes upper case and all others lower case.
    #[serde(default)]
    capitalize: bool,
    /// Whether white space is removed from both ends.
    #[serde(default)]
    strip: bool,
    /// Replacements for all matches of a pattern, one pattern after the other.
    #[serde(default)]
    replace: Vec<(Pattern, String)>,
    /// The text of each item of a list, with `{item}`, `{letter}` and `{number}`, which starts at 1.
    each: Option<String>,
    /// What separates these texts: a line end by default.
    join: Option<String>,
}

impl DerivedColumns {
    /// Reads a dict of names, each with a path or a dict of [`DerivedColumn`]'s keys.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Dataset`] with the name.
    pub(crate) fn read(columns: &Value) -> Result<Self> {
        let Value::Dict(columns) = columns else {
            return Err(dataset_error("write a dict of columns, such as { A = \"choices[0]\" }"));
        };
        let read = |(name, column): &(Value, Value)| {
            let name = name.text().into_owned();
            Ok((name.clone(), DerivedColumn::read(column).at(name)?))
        };
        Ok(Self(columns.iter().map(read).collect::<Result<_>>()?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of the texts of those that are used, with their key paths: they have these names, or one of them is made
    /// of it.
    pub(crate) fn fields_of_used(&self, names: impl Iterator<Item = String>) -> Vec<TemplateField> {
        let mut used: BTreeSet<String> = names.collect();
        let mut fields = Vec::new();
        // Each is made of those before it.
        for (name, DerivedColumn { text, from, index_in, .. }) in self.0.iter().rev() {
            if !used.contains(name) {
                continue;
            }
            if let Some(text) = text {
                let of_text = fields_of_texts(&[TemplateText::new(format!("reader_cfg.columns.{name}.text"), text)]);
                used.extend(of_text.iter().map(|field| field.column.clone()));
                fields.splice(0..0, of_text);
            }
            let paths = from.iter().chain(index_in);
            used.extend(paths.flat_map(Path::columns_used).map(str::to_owned));
        }
        fields
    }

    /// Sets them in a row, one after the other. One whose path leads to nothing is not set.
    pub(crate) fn set(&self, row: &mut Row, max_row_bytes: usize) -> Result<()> {
        for (name, column) in &self.0 {
            if let Some(value) = column.value(row, max_row_bytes).at(format_args!("reader_cfg.columns.{name}"))? {
                row.set(name, value);
            }
        }
        Ok(())
    }
}

impl DerivedColumn {
    fn read(column: &Value) -> Result<Self> {
        let keys = match column {
            Value::Text(_) => Value::Dict(vec![("from".into(), column.clone())]),
            other => other.clone(),
        };
        let column: Self = serde_json::from_value(keys.to_json()).map_err(|error| dataset_error(&error.to_string()))?;
        if column.join.is_some() && column.each.is_none() {
            return Err(dataset_error("join separates the texts of each item; set each = \"{item}\" too"));
        }
        if column.from.is_some() == column.text.is_some() {
            return Err(dataset_error("set either from (a path to a value) or text (with fields)"));
        }
        if let Some(each) = &column.each {
            check_each(each)?;
        }
        Ok(column)
    }

    fn value(&self, row: &Row, max_row_bytes: usize) -> Result<Option<Value>> {
        let room = Room::new(max_row_bytes);
        let Some(mut value) = self.found(row, &room)? else { return Ok(None) };
        if let Some(list) = &self.index_in {
            value = index_in(&value, list, row)?;
        }
        if let Some(each) = &self.each {
            value = Value::Text(texts(each, &value, self.join.as_deref().unwrap_or("\n"), &room)?);
        }
        if self.letter {
            value = Value::Text(letter(&value)?.to_string());
        }
        if self.capitalize || self.strip || !self.replace.is_empty() {
            value = self.changed(value, &room)?;
        }
        Ok(Some(value))
    }

    fn found(&self, row: &Row, room: &Room) -> Result<Option<Value>> {
        if let Some(text) = &self.text {
            let filler = Filler { fields: Fields::new(row), how: Substitution::SinglePass, room };
            return Ok(Some(Value::Text(filler.fill(text.clone())?)));
        }
        match &self.from {
            Some(path) => Ok(path.find(row)?.cloned()),
            None => Ok(None),
        }
    }

    /// The text, or each item of a list as text.
    fn changed(&self, value: Value, room: &Room) -> Result<Value> {
        if let Value::List(items) = value {
            let items = items.into_iter().map(|item| self.changed(item, room));
            return Ok(Value::List(items.collect::<Result<_>>()?));
        }
        let mut text = value.text().into_owned();
        if self.capitalize {
            text = capitalized(&text);
        }
        if self.strip {
            text = text.trim_matches(is_space).to_owned();
        }
        for (Pattern(pattern), with) in &self.replace {
            // The text itself was counted where it comes from.
            let (count, found) = pattern.find_iter(&text).fold((0_usize, 0), |(n, len), one| (n + 1, len + one.len()));
            room.grow(text.len(), count.saturating_mul(with.len()).saturating_add(text.len() - found))?;
            text = pattern.replace_all(&text, NoExpand(with)).into_owned();
        }
        Ok(Value::Text(text))
    }
}

/// The replacements in texts.
#[derive(Debug, Clone)]
struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text)
            .map(Self)
            .map_err(|error| de::Error::custom(format!("{text:?} is not a pattern: {}", last_line(&error))))
    }
}

/// The error itself, without the drawing of its position.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().next_back().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// The position of a value in a list, from 0.
fn index_in(value: &Value, list: &Path, row: &Row) -> Result<Value> {
    let Some(Value::List(items)) = list.find(row)? else {
        return Err(row_error(&format!("index_in: {list} is not a list")));
    };
    match items.iter().position(|item| item.equals(value)) {
        Some(place) => Ok(Value::Int(place.to_string())),
        None => {
            let items = Value::List(items.clone());
            Err(row_error(&format!("index_in: {} is not in {list}, which has {}", value.shown(), items.shown())))
        }
    }
}

/// The fields of `each`.
const OF_ITEMS: [&str; 3] = ["item", "letter", "number"];

/// Rejects misspelt fields. Others are text.
fn check_each(each: &str) -> Result<()> {
    let names = each.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let misspelt = |name| Some((name, OF_ITEMS.into_iter().find(|known| is_one_typo(name, known))?));
    match names.filter_map(misspelt).next() {
        Some((name, known)) => Err(dataset_error(&format!("each has {{{name}}}; did you mean {{{known}}}?"))),
        None => Ok(()),
    }
}

/// The texts of a list's items, joined.
fn texts(each: &str, list: &Value, join: &str, room: &Room) -> Result<String> {
    let Value::List(items) = list else {
        return Err(row_error(&format!("each needs a list, not {}", list.shown())));
    };
    let mut text = String::new();
    let mut push = |piece: &str| -> Result<()> {
        room.take(piece.len())?;
        text.push_str(piece);
        Ok(())
    };
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            push(join)?;
        }
        let own = item.text();
        let mut rest = each;
        while let Some(open) = rest.find('{') {
            push(&rest[..open])?;
            rest = &rest[open..];
            let (name, after) = rest[1..].split_once('}').unwrap_or(("", ""));
            match name {
                "item" => push(&own)?,
                "number" => push(&(place + 1).to_string())?,
                "letter" => push(letter(&Value::Int(place.to_string()))?.encode_utf8(&mut [0; 4]))?,
                _ => {
                    push("{")?;
                    rest = &rest[1..];
                    continue;
                }
            }
            rest = after;
        }
        push(rest)?;
    }
    Ok(text)
}

/// A for 0.
fn letter(value: &Value) -> Result<char> {
    let number = whole_number(value).and_then(|number| u8::try_from(number).ok()).filter(|number| *number < 26);
    let no_letter = || row_error(&format!("a letter needs a whole number from 0 to 25, not {}", value.shown()));
    number.map(|number| char::from(b'A' + number)).ok_or_else(no_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(columns: &str) -> DerivedColumns {
        let columns = Value::from_json(columns).and_then(|columns| DerivedColumns::read(&columns));
        columns.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn only_columns_on_the_path_are_used() {
        let columns = r#"{"a": {"text": "{foo}"}, "idx": {"text": "{bar}"}, "all": {"text": "{baz}"}, "answer.b": {"text": "{qux}"},
            "x": "answer.y", "y": "list[idx]", "z": {"from": "w", "index_in": "all"}, "v": "answer.b.c"}"#;
        let columns = derived(columns);
        for (used, fields) in [("x", ""), ("y", "bar"), ("z", "baz"), ("v", "qux"), ("a", "foo"), ("none", "")] {
            let found = columns.fields_of_used([used.to_owned()].into_iter());
            let found: Vec<&str> = found.iter().map(|field| field.column.as_str()).collect();
            assert_eq!(found.join(" "), fields, "{used}");
        }
    }

    #[test]
    fn texts_have_a_limit_together() {
        let row = |items: usize| Row::new(vec![("l".to_owned(), Value::List(vec!["12345".into(); items]))]);
        for column in [r#"{"from": "l", "each": "{item}{item}"}"#, r#"{"from": "l", "replace": [["1", "1123456"]]}"#] {
            let columns = derived(&format!(r#"{{"x": {column}}}"#));
            assert!(columns.set(&mut row(3), 64).is_ok(), "{column}");
            let error = columns.set(&mut row(64), 64).expect_err("it is too long");
            assert!(matches!(error.kind(), crate::ErrorKind::RowTooLong(64)), "{error}");
        }
    }
}
