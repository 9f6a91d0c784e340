//! Tables of Arrow: a column of conversations becomes a table of ids, as `metatok build` writes it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use metatok::conversation::{ChatMessage, Conversation};
use metatok::error::{ErrorKind, Place};
use metatok::sink::{Table, TableFormat};
use metatok::{Error, Fingerprint};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::at_least_one::Threads;
use crate::builder::Builder;
use crate::error::{OrRaise, exception};

/// Builds a column of messages, or of texts, and returns a table with the schema of `metatok build --format parquet`,
/// and after it the columns to keep. Rows without an `id` have their numbers, from `first_row` on.
///
/// # Errors
/// `TypeError` for a column of another type.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
pub(crate) fn build_arrow(
    py: Python<'_>,
    builder: &Builder,
    table: AnyRecordBatch,
    column: &str,
    ids_column: &str,
    keep: Vec<String>,
    first_row: usize,
    threads: Option<Threads>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let (batches, schema) = table.into_table().map_err(PyErr::from)?.into_inner();
    let (said, id) = (index(&schema, column).or_raise(py)?, schema.index_of("id").ok());
    let keep = keep.iter().map(|name| index(&schema, name)).collect::<metatok::Result<Vec<_>>>().or_raise(py)?;
    let columns = batches.iter().map(|batch| Said::of(batch.column(said))).collect::<PyResult<Vec<_>>>()?;
    let conversations = columns.iter().flat_map(|column| (0..column.len()).map(|row| Ok(column.conversation(row))));
    let prompts = builder.ids_of(py, conversations, threads, budget)?;
    let metadata = metadata(py, builder, prompts.len())?;
    let fields = keep.iter().map(|&kept| schema.field(kept).clone());
    let schema = Arc::new(output(ids_column, fields, metadata));
    let mut prompts = prompts.into_iter();
    let mut row = first_row;
    let built = batches.iter().map(|batch| {
        let of_batch: Vec<Vec<u32>> = prompts.by_ref().take(batch.num_rows()).collect();
        let mut columns = vec![ids_of_rows(id.map(|id| batch.column(id)), row, of_batch.len())?];
        columns.extend((0..3).map(|_| Arc::new(Int64Array::new_null(of_batch.len())) as ArrayRef));
        columns.push(Arc::new(lists(&of_batch)));
        columns.extend(keep.iter().map(|&kept| Arc::clone(batch.column(kept))));
        row += of_batch.len();
        RecordBatch::try_new(Arc::clone(&schema), columns)
    });
    let built = built.collect::<Result<Vec<_>, ArrowError>>().map_err(|error| failed(py, &error))?;
    PyTable::try_new(built, schema)
}

fn failed(py: Python<'_>, error: &ArrowError) -> PyErr {
    exception(py, &Error::from(ErrorKind::Invalid(error.to_string())))
}

fn index(schema: &Schema, column: &str) -> metatok::Result<usize> {
    schema.index_of(column).map_err(|_| {
        let columns = schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
        Error::from(ErrorKind::MissingColumn { column: column.to_owned(), columns }).at(Place::other("the table"))
    })
}

fn metadata(py: Python<'_>, builder: &Builder, rows: usize) -> PyResult<String> {
    let options = builder.recipe.options().or_raise(py)?;
    let of = &builder.shared.builder;
    let fingerprint = py.detach(|| Fingerprint::new(&builder.model, of.tokenizer(), &options));
    Ok(Table::new(of, TableFormat::Arrow, fingerprint).metadata(rows))
}

fn output(ids_column: &str, keep: impl Iterator<Item = Field>, metadata: String) -> Schema {
    let ids = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let own = [
        Field::new("id", DataType::Utf8, false),
        Field::new("repeat", DataType::Int64, true),
        Field::new("turn", DataType::Int64, true),
        Field::new("max_out_len", DataType::Int64, true),
        Field::new(ids_column, ids, false),
    ];
    let fields: Vec<Field> = own.into_iter().chain(keep).collect();
    Schema::new_with_metadata(fields, HashMap::from([("metatok".to_owned(), metadata)]))
}

/// The ids of rows, as strings: their own, or else their numbers.
fn ids_of_rows(own: Option<&ArrayRef>, first: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
    let mut ids = StringBuilder::with_capacity(rows, 8 * rows);
    let texts = own.and_then(Texts::of);
    let numbers = own.and_then(|own| own.as_primitive_opt::<Int64Type>());
    for row in 0..rows {
        let text = texts.as_ref().and_then(|texts| texts.get(row));
        let number = numbers.filter(|numbers| numbers.is_valid(row)).map(|numbers| numbers.value(row));
        match (text, number) {
            (Some(text), _) => ids.append_value(text),
            (None, Some(number)) => ids.append_value(number.to_string()),
            (None, None) if own.is_none_or(|own| own.is_null(row)) => ids.append_value((first + row).to_string()),
            (None, None) => {
                let what = "the column id must have strings or 64-bit integers";
                return Err(ArrowError::InvalidArgumentError(what.into()));
            }
        }
    }
    Ok(Arc::new(ids.finish()))
}

/// Lists of ids, without nulls.
fn lists(prompts: &[Vec<u32>]) -> arrow_array::ListArray {
    let tokens = prompts.iter().map(Vec::len).sum();
    let mut lists = ListBuilder::with_capacity(Int64Builder::with_capacity(tokens), prompts.len());
    for prompt in prompts {
        prompt.iter().for_each(|&id| lists.values().append_value(i64::from(id)));
        lists.append(true);
    }
    lists.finish()
}

/// A column of conversations.
enum Said<'a> {
    Texts(Texts<'a>),
    Messages { offsets: Offsets<'a>, roles: Texts<'a>, contents: Texts<'a> },
}

/// Where the messages of each row are.
enum Offsets<'a> {
    Small(&'a OffsetBuffer<i32>),
    Large(&'a OffsetBuffer<i64>),
}

impl<'a> Said<'a> {
    fn of(column: &'a ArrayRef) -> PyResult<Self> {
        if let Some(texts) = Texts::of(column) {
            return Ok(Self::Texts(texts));
        }
        let (offsets, messages) = match column.data_type() {
            DataType::List(_) => (Offsets::Small(column.as_list::<i32>().offsets()), column.as_list::<i32>().values()),
            DataType::LargeList(_) => {
                (Offsets::Large(column.as_list::<i64>().offsets()), column.as_list::<i64>().values())
            }
            _ => return Err(other(column.data_type())),
        };
        let messages = messages.as_struct_opt().ok_or_else(|| other(column.data_type()))?;
        let texts = |name| messages.column_by_name(name).and_then(Texts::of).ok_or_else(|| other(column.data_type()));
        let (roles, contents) = (texts("role")?, texts("content")?);
        if !has_only_these(messages) || messages.null_count() + contents.nulls() + roles.nulls() > 0 {
            return Err(other(column.data_type()));
        }
        Ok(Self::Messages { offsets, roles, contents })
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Messages { offsets: Offsets::Small(offsets), .. } => offsets.len() - 1,
            Self::Messages { offsets: Offsets::Large(offsets), .. } => offsets.len() - 1,
        }
    }

    fn conversation(&self, row: usize) -> Conversation {
        let (range, roles, contents) = match self {
            Self::Texts(texts) => return Conversation::Text(texts.get(row).unwrap_or_default().to_owned()),
            Self::Messages { offsets, roles, contents } => (offsets.range(row), roles, contents),
        };
        let text = |texts: &Texts<'_>, at| texts.get(at).unwrap_or_default().to_owned();
        range.map(|at| ChatMessage::new(text(roles, at), text(contents, at))).collect()
    }
}

impl Offsets<'_> {
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match self {
            Self::Small(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Self::Large(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        }
    }
}

/// Whether all other keys of messages are null everywhere.
fn has_only_these(messages: &StructArray) -> bool {
    let others = messages.column_names().into_iter().zip(messages.columns());
    let mut others = others.filter(|(name, _)| !["role", "content"].contains(name));
    others.all(|(_, column)| column.null_count() == column.len())
}

fn other(kind: &DataType) -> PyErr {
    PyTypeError::new_err(format!(
        "a column of conversations has strings, or lists of structs with the strings role and content, not {kind}"
    ))
}

/// Strings, however they are stored.
enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    fn of(column: &'a ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => Some(Self::Small(column.as_string())),
            DataType::LargeUtf8 => Some(Self::Large(column.as_string())),
            DataType::Utf8View => Some(Self::View(column.as_string_view())),
            _ => None,
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Small(texts) => texts,
            Self::Large(texts) => texts,
            Self::View(texts) => texts,
        }
    }

    fn len(&self) -> usize {
        self.array().len()
    }

    fn nulls(&self) -> usize {
        self.array().null_count()
    }

    fn get(&self, row: usize) -> Option<&'a str> {
        if self.array().is_null(row) {
            return None;
        }
        Some(match self {
            Self::Small(texts) => texts.value(row),
            Self::Large(texts) => texts.value(row),
            Self::View(texts) => texts.value(row),
        })
    }
}
