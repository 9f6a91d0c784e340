//! The rows of a table of Arrow: conversations, and what other columns say of them.

use std::fmt::Display;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, FieldRef, Schema};
use metatok::dataset::prompter::MaxOutLen;
use metatok::dataset::records::companions;
use metatok::error::{At, ErrorKind, Place};
use metatok::{Error, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::column::{Column, JsonColumn, JsonForm, Texts, is_text};
use crate::conversation::{Reader, Said};
use crate::error::OrRaise;

/// The column with the limits of answers.
pub(crate) const MAX_OUT_LEN: &str = "max_out_len";

/// Which of a table's columns are read.
pub(crate) struct TableColumns {
    conversation: usize,
    companions: Vec<usize>,
    id: Option<usize>,
    max_out_len: Option<usize>,
    /// Those that the table of ids has, too.
    pub(crate) keep: Vec<usize>,
}

impl TableColumns {
    /// Without `id_column`, the ids are in `id`, if there is such a column.
    ///
    /// # Errors
    /// Names a column that is missing.
    pub(crate) fn find(schema: &Schema, column: &str, id_column: Option<&str>, keep: &[String]) -> Result<Self> {
        let known = |name: &str| schema.index_of(name).ok();
        let index = |name: &str| known(name).ok_or_else(|| missing(schema, name));
        let conversation = index(column)?;
        let max_out_len = known(MAX_OUT_LEN);
        // The table of ids has such a column anyway.
        let keep = keep.iter().filter(|name| *name != MAX_OUT_LEN || max_out_len.is_none());
        Ok(Self {
            conversation,
            companions: companions(column, is_text(schema.field(conversation))).filter_map(known).collect(),
            id: id_column.map(index).transpose()?.or_else(|| known("id")),
            max_out_len,
            keep: keep.map(|name| index(name)).collect::<Result<_>>()?,
        })
    }
}

fn missing(schema: &Schema, column: &str) -> Error {
    let columns = schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    Error::from(ErrorKind::MissingColumn { column: column.to_owned(), columns }).at(Place::other("the table"))
}

/// The rows of a batch.
pub(crate) struct TableRows<'a> {
    conversations: Column<'a>,
    max_out_len: Option<JsonColumn<'a>>,
}

impl<'a> TableRows<'a> {
    /// # Errors
    /// `TypeError` for a column whose values cannot be read.
    pub(crate) fn of(columns: &TableColumns, batch: &'a RecordBatch, form: &'a JsonForm) -> PyResult<Self> {
        let of = |index: usize| column_of(batch, index);
        let conversation = of(columns.conversation);
        let companions = columns.companions.iter().map(|&index| of(index));
        let conversations =
            Column::of(conversation, companions, form).map_err(|error| unread(conversation.0, &error))?;
        let max_out_len = columns.max_out_len.map(|index| json_column(of(index), form)).transpose()?;
        Ok(Self { conversations, max_out_len })
    }

    /// The conversation of a row, whose answer has `max_out_len` tokens if the row says nothing else.
    ///
    /// # Errors
    /// As for a line of a file; for a null; for what is not a number of tokens.
    pub(crate) fn conversation(
        &mut self,
        row: usize,
        max_out_len: Option<u64>,
        reader: &mut Reader<'_>,
        place: impl Display,
    ) -> Result<Said> {
        let own = match &mut self.max_out_len {
            Some(values) => values.json(row)?.map_or(Ok(None), MaxOutLen::of_json)?,
            None => None,
        };
        let said = self.conversations.conversation(row, reader, place)?;
        Ok(Said { max_out_len: own.or(said.max_out_len).or(max_out_len), ..said })
    }
}

/// The ids of a batch's rows, and which of them are the rows' own.
pub(crate) struct RowIds<'a> {
    pub(crate) texts: StringArray,
    own: Option<&'a ArrayRef>,
    is_own: Vec<bool>,
}

impl<'a> RowIds<'a> {
    /// Strings and dates as they are, other values as JSON; rows without an id have their numbers, from `first` on.
    ///
    /// # Errors
    /// `TypeError` for a column whose values cannot be read; for bytes that are not text.
    pub(crate) fn of(
        columns: &TableColumns,
        batch: &'a RecordBatch,
        first: usize,
        form: &'a JsonForm,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let own = columns.id.map(|index| column_of(batch, index));
        let rows = 0..batch.num_rows();
        let of_rows: Vec<Option<String>> = match (own, own.and_then(|(field, values)| Texts::of(field, values))) {
            (None, _) => vec![None; batch.num_rows()],
            (_, Some(texts)) => rows.map(|row| texts.get(row).map(str::to_owned)).collect(),
            (Some(own), None) => {
                let mut values = json_column(own, form)?;
                let mut id = |row| Ok(values.json(row).at(Place::Conversation(first + row))?.map(unquoted));
                rows.map(&mut id).collect::<Result<_>>().or_raise(py)?
            }
        };
        let is_own = of_rows.iter().map(Option::is_some).collect();
        let texts = (first..).zip(of_rows).map(|(number, own)| Some(own.unwrap_or_else(|| number.to_string())));
        Ok(Self { texts: texts.collect(), own: own.map(|(_, values)| values), is_own })
    }

    /// Whether any row has an id of its own.
    pub(crate) fn has_own(&self) -> bool {
        self.is_own.contains(&true)
    }

    /// The id that a row has of its own: a whole number, or what the table of ids has.
    pub(crate) fn own(&self, row: usize, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(own) = self.own.filter(|_| self.is_own[row]) else { return Ok(None) };
        let text = self.texts.value(row);
        match text.parse::<i128>() {
            Ok(number) if own.data_type().is_integer() => Ok(Some(number.into_pyobject(py)?.into_any().unbind())),
            _ => Ok(Some(text.into_pyobject(py)?.into_any().unbind())),
        }
    }
}

/// A string without the quotes of JSON.
fn unquoted(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned())
}

fn column_of(batch: &RecordBatch, index: usize) -> (&FieldRef, &ArrayRef) {
    (&batch.schema_ref().fields()[index], batch.column(index))
}

fn json_column<'a>((field, values): (&'a FieldRef, &'a ArrayRef), form: &'a JsonForm) -> PyResult<JsonColumn<'a>> {
    JsonColumn::of(field, values, form).map_err(|error| unread(field, &error))
}

/// The exception for a column with values of a type that cannot be read.
fn unread(field: &Field, error: &ArrowError) -> PyErr {
    let what = match error {
        ArrowError::NotYetImplemented(what) | ArrowError::InvalidArgumentError(what) => what.clone(),
        error => error.to_string(),
    };
    PyTypeError::new_err(format!("column {:?} has values of type {}: {what}", field.name(), field.data_type()))
}
