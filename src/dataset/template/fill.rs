//! Filling `{column}` fields with a row's values.

use std::cell::Cell;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use crate::dataset::rows::Fields;
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

    /// The same for a text that is one of several: `what` names them all.
    pub(crate) fn take_of(&self, bytes: usize, what: &str) -> Result<()> {
        let too_long = |_| {
            let what = format!("together, {what} have more than {} bytes of text", self.most);
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

impl Filler<'_> {
    /// Fills a text.
    ///
    /// # Errors
    /// [`ErrorKind::RowTooLong`] before a longer text is allocated.
    pub(crate) fn fill(&self, text: String) -> Result<String> {
        let text = match self.how {
            _ if !text.contains('{') => text,
            Substitution::Sequential => self.sequential(text)?,
            Substitution::SinglePass => self.single_pass(&text)?,
        };
        // Many empty ones take time too.
        self.room.take(text.len() + size_of::<String>())?;
        Ok(text)
    }

    fn sequential(&self, mut text: String) -> Result<String> {
        for (name, value) in self.fields.iter() {
            let field_len = name.len() + "{}".len();
            self.room.pass(text.len() + field_len)?;
            let count = places_of(name, &text).count();
            if count > 0 {
                let value = value.text();
                let len = self.room.replaced(text.len(), count, field_len, value.len())?;
                self.room.pass(len)?;
                text = filled(&text, name, &value, len);
            }
        }
        Ok(text)
    }

    fn single_pass(&self, text: &str) -> Result<String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            self.room.pass(self.fields.len())?;
            let field = self.fields.iter().find_map(|(name, value)| {
                let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
                Some((value, after))
            });
            match field {
                Some((value, after)) => {
                    let value = value.text();
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
