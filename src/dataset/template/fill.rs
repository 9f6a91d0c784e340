//! Filling `{column}` fields with a row's values.

use std::borrow::Cow;
use std::cell::Cell;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use crate::conversation::{MediaKind, source_of};
use crate::dataset::rows::{Field, Fields, Value};
use crate::error::{ErrorKind, Result, Setting, way_out};

/// The default limit for the bytes that the texts of a row may have together after they are filled: more than any
/// context holds.
pub(crate) const MAX_ROW_BYTES: usize = 16 << 20;

/// How fields are filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Substitution {
    /// One column after the other, in the row's order, as in the references: a value that is filled in is searched for
    /// the fields of later columns.
    #[default]
    Sequential,
    /// Every field of the template once: values are never searched.
    SinglePass,
}

/// The bytes of a row are read and written at most this often: columns that contain each other's fields, and many
/// columns in a long text, take time too.
const PASSES: usize = 64;

/// How many more bytes the texts of a prompt may have together.
pub(crate) struct Room {
    most: usize,
    left: Cell<usize>,
    work: Cell<usize>,
}

impl Room {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, left: Cell::new(most), work: Cell::new(most.saturating_mul(PASSES)) }
    }

    /// Takes the bytes of a text for good.
    pub(crate) fn take(&self, bytes: usize) -> Result<()> {
        let left = self.left.get().checked_sub(bytes).ok_or(ErrorKind::RowTooLong(self.most))?;
        self.left.set(left);
        Ok(())
    }

    /// Takes what a text of `before` bytes grows by. All of it may have as many as there are at most.
    pub(crate) fn grow(&self, before: usize, after: usize) -> Result<()> {
        if after > self.most {
            return Err(ErrorKind::RowTooLong(self.most).into());
        }
        self.take(after.saturating_sub(before))
    }

    /// Takes the bytes of one of several texts for good: `what` names them all in the error.
    pub(crate) fn take_of(&self, bytes: usize, what: &str) -> Result<()> {
        let too_long = |_| {
            let what = format!("together, {what} have more than {} bytes", self.most);
            ErrorKind::Row(what).with_way_out(way_out!["raise ", Setting::MAX_ROW_BYTES, " if that is intended"])
        };
        self.take(bytes).map_err(too_long)
    }

    /// How long a text is after this many times `from` bytes in it become `to`, if there is room for it.
    pub(crate) fn replaced(&self, len: usize, count: usize, from: usize, to: usize) -> Result<usize> {
        let added = count.checked_mul(to).and_then(|added| (len - count * from).checked_add(added));
        let fits = added.filter(|&len| len <= self.left.get());
        Ok(fits.ok_or(ErrorKind::RowTooLong(self.most))?)
    }

    /// Accounts for reading or writing this many bytes.
    pub(crate) fn pass(&self, bytes: usize) -> Result<()> {
        let work = self.work.get().checked_sub(bytes).ok_or(ErrorKind::RowTooSlow(self.most))?;
        self.work.set(work);
        Ok(())
    }
}

/// Fills texts with a row's fields while there is room.
#[derive(Clone, Copy)]
pub(crate) struct Filler<'r> {
    pub(crate) fields: Fields<'r>,
    pub(crate) how: Substitution,
    pub(crate) room: &'r Room,
}

impl<'r> Filler<'r> {
    /// Fills a text.
    ///
    /// # Errors
    /// [`ErrorKind::RowTooLong`] before a longer text is allocated.
    pub(crate) fn fill(&self, text: String) -> Result<String> {
        self.fill_with(text, |_, field| Ok(field.text()))
    }

    /// Fills a text of a content, or the source of such a medium, which must be a source after that.
    ///
    /// # Errors
    /// The same as for [`Self::fill`]; [`ErrorKind::Row`] for a column in a source that is no text.
    pub(crate) fn fill_part(&self, text: String, medium: Option<MediaKind>) -> Result<String> {
        match medium {
            Some(kind) => self.fill_with(text, |name, field| source(kind, name, field)),
            None => self.fill(text),
        }
    }

    /// Fills a text with what `text_of` makes of each column that it names.
    fn fill_with(&self, text: String, text_of: impl Fn(&str, Field<'r>) -> Result<Cow<'r, str>>) -> Result<String> {
        let text = match self.how {
            _ if !text.contains('{') => text,
            Substitution::Sequential => self.sequential(text, text_of)?,
            Substitution::SinglePass => self.single_pass(&text, text_of)?,
        };
        // Many empty ones take time too.
        self.room.take(text.len() + size_of::<String>())?;
        Ok(text)
    }

    fn sequential(
        &self,
        mut text: String,
        text_of: impl Fn(&str, Field<'r>) -> Result<Cow<'r, str>>,
    ) -> Result<String> {
        for (name, value) in self.fields.iter() {
            let field_len = name.len() + "{}".len();
            self.room.pass(text.len() + field_len)?;
            let count = places_of(name, &text).count();
            if count > 0 {
                let value = text_of(name, value)?;
                let len = self.room.replaced(text.len(), count, field_len, value.len())?;
                self.room.pass(len)?;
                text = filled(&text, name, &value, len);
            }
        }
        Ok(text)
    }

    fn single_pass(&self, text: &str, text_of: impl Fn(&str, Field<'r>) -> Result<Cow<'r, str>>) -> Result<String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            self.room.pass(self.fields.len())?;
            let field = self.fields.iter().find_map(|(name, value)| {
                let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
                Some((name, value, after))
            });
            match field {
                Some((name, value, after)) => {
                    let value = text_of(name, value)?;
                    self.room.replaced(filled.len(), 1, 0, value.len())?;
                    filled.push_str(&value);
                    rest = after;
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        Ok(filled + rest)
    }
}

/// The source of a medium in a column: a text, or an object with a path or a URL, as in the columns of `datasets`.
fn source<'r>(kind: MediaKind, column: &str, field: Field<'r>) -> Result<Cow<'r, str>> {
    let Field::Value(value) = field else { return Ok(field.text()) };
    let (is, way_out) = match value {
        Value::Text(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_) => return Ok(field.text()),
        Value::Dict(_) if value.get("bytes").is_some_and(|bytes| *bytes != Value::Null) => {
            ("has bytes", "write them to a file, and put its path into the column".to_owned())
        }
        Value::Dict(_) => match source_of(&value.to_json()) {
            Some(source) => return Ok(source.into()),
            None => ("is an object with neither \"path\" nor \"url\"", choose(column, ".key")),
        },
        Value::List(_) => ("is a list", choose(column, "[0]")),
        Value::Null => ("is null", "leave such rows out, or give them a source".to_owned()),
    };
    let what = format!("the column {column:?} {is}, but the source of {} must be a path or a URL", kind.indefinite());
    Err(ErrorKind::Row(what).with_way_out(way_out))
}

/// The way to a value within a column.
fn choose(column: &str, path: &str) -> String {
    format!(
        "choose a value in it with reader_cfg.columns, such as {{ source = \"{column}{path}\" }}, and name that column"
    )
}

/// Where the field of a column is in a text, and where it ends. Most texts have few braces, if any.
fn places_of(name: &str, text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut last = 0;
    memchr_iter(b'{', text.as_bytes()).filter_map(move |at| {
        let after = text[at + 1..].strip_prefix(name)?.strip_prefix('}')?;
        (at >= last).then(|| {
            last = text.len() - after.len();
            (at, last)
        })
    })
}

/// A text with every field of a column replaced by its value, of length `len`.
fn filled(text: &str, name: &str, value: &str, len: usize) -> String {
    let (mut filled, mut start) = (String::with_capacity(len), 0);
    for (at, end) in places_of(name, text) {
        filled.push_str(&text[start..at]);
        filled.push_str(value);
        start = end;
    }
    filled + &text[start..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dataset::rows::Row;

    fn fill(text: &str, row: &Row, how: Substitution, most: usize) -> Result<String> {
        Filler { fields: Fields::new(row), how, room: &Room::new(most) }.fill(text.to_owned())
    }

    #[test]
    fn both_ways() {
        let row = Row::from_json(r#"{"a": "{b}{a}", "b": 1.0, "": "none", "a b": null}"#).expect("it is a row");
        for (text, in_order, once) in [
            ("{a}|{b}", "1.0{a}|1.0", "{b}{a}|1.0"),
            ("{{b}} {c} {b!r} { b}", "{1.0} {c} {b!r} { b}", "{1.0} {c} {b!r} { b}"),
            ("{}{a b}", "noneNone", "noneNone"),
            ("{", "{", "{"),
            ("{{}{{}}}", "{none{none}}", "{none{none}}"),
        ] {
            for (how, expected) in [(Substitution::Sequential, in_order), (Substitution::SinglePass, once)] {
                assert_eq!(fill(text, &row, how, 1_000).ok().as_deref(), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn a_source_is_a_path_or_a_url() {
        let row = r#"{"a": "/a.png", "n": 7, "p": {"bytes": null, "path": "/p.png"}, "b": {"bytes": "iVBO", "path": "p"},
            "o": {"x": 1}, "l": ["/a.png"], "z": null}"#;
        let row = Row::from_json(row).expect("it is a row");
        for how in [Substitution::Sequential, Substitution::SinglePass] {
            let filler = Filler { fields: Fields::new(&row), how, room: &Room::new(1_000) };
            let fill = |text: &str| filler.fill_part(text.to_owned(), Some(MediaKind::Image));
            let filled = |text: &str| fill(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!([filled("file://{a}"), filled("{n}.png"), filled("{p}")], ["file:///a.png", "7.png", "/p.png"]);
            for (text, what) in [("{b}", "has bytes"), ("{o}", "neither"), ("{l}", "is a list"), ("{z}", "is null")] {
                let error = fill(text).expect_err("it is no source").to_string();
                assert!(error.contains(what), "{error}");
            }
            assert_eq!(filler.fill_part("{z}".into(), None).ok().as_deref(), Some("None"));
        }
    }

    #[test]
    fn the_limit_is_the_length() {
        let row = Row::from_json(r#"{"a": "{b}{b}", "b": "12345"}"#).expect("it is a row");
        let own = size_of::<String>();
        for (how, len) in [(Substitution::Sequential, 22), (Substitution::SinglePass, 14)] {
            let expected = if len == 22 { "<12345123451234512345>" } else { "<{b}{b}{b}{b}>" };
            assert_eq!(expected.len(), len);
            assert_eq!(fill("<{a}{a}>", &row, how, len + own).ok().as_deref(), Some(expected));
            assert!(fill("<{a}{a}>", &row, how, len + own - 1).is_err());
        }
    }

    #[test]
    fn a_text_that_would_fill_all_memory_is_an_error() {
        // Each column brings in the next ten times.
        let columns = (0..40).map(|i| format!("\"c{i}\": \"{}\"", format!("{{c{}}}", i + 1).repeat(10)));
        let row = Row::from_json(&format!("{{{}}}", columns.collect::<Vec<_>>().join(", "))).expect("it is a row");
        let error = fill("{c0}", &row, Substitution::Sequential, MAX_ROW_BYTES).expect_err("it is too long");
        assert!(matches!(error.kind(), ErrorKind::RowTooLong(MAX_ROW_BYTES)), "{error}");
    }

    #[test]
    fn a_long_chain_of_columns_is_an_error() {
        let columns = (0..2_000).map(|i| format!("\"c{i}\": \"{{c{}}}x\"", i + 1));
        let row = Row::from_json(&format!("{{{}}}", columns.collect::<Vec<_>>().join(", "))).expect("it is a row");
        let text = "{c0}".to_owned() + &"y".repeat(9_000);
        let error = fill(&text, &row, Substitution::Sequential, 20_000).expect_err("it takes too long");
        assert!(matches!(error.kind(), ErrorKind::RowTooSlow(20_000)), "{error}");
        assert!(fill(&text, &row, Substitution::Sequential, MAX_ROW_BYTES).is_ok());
    }

    proptest! {
        #[test]
        fn a_field_is_replaced_like_any_text(text in "[{}a]{0,12}", name in "[{}a]{0,3}", value in "[{}a]{0,3}") {
            let expected = text.replace(&format!("{{{name}}}"), &value);
            prop_assert_eq!(filled(&text, &name, &value, expected.len()), expected);
        }
    }
}
