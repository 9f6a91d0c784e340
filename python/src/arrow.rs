//! Tables of Arrow: a column of conversations becomes a table of ids, as `metatok build` writes it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use metatok::error::{ErrorKind, Place};
use metatok::sink::{Table, TableFormat};
use metatok::{Error, Fingerprint};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::at_least_one::Threads;
use crate::builder::Builder;
use crate::column::{Column, Records, Texts, encoder_options};
use crate::error::{OrRaise, exception};

/// Builds a column of conversations, and returns a table with the schema of `metatok build --format parquet`, and after
/// it the columns to keep. Rows without an id have their numbers, from `first_row` on.
///
/// # Errors
/// `UsageError` for a column that the table would have twice; `InputError` for one that is missing, or has a type that JSON
/// does not have; otherwise as for lines of a file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
pub(crate) fn build_arrow(
    py: Python<'_>,
    builder: &Builder,
    table: AnyRecordBatch,
    column: &str,
    id_column: Option<&str>,
    ids_column: &str,
    keep: Vec<String>,
    first_row: usize,
    threads: Option<Threads>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let (batches, schema) = table.into_table().map_err(PyErr::from)?.into_inner();
    let index = |name: &str| index(&schema, name).or_raise(py);
    let said = index(column)?;
    let id = id_column.map(index).transpose()?.or_else(|| schema.index_of("id").ok());
    let keep = keep.iter().map(|name| index(name)).collect::<PyResult<Vec<_>>>()?;
    let fields = fields(ids_column, keep.iter().map(|&kept| schema.field(kept).clone())).or_raise(py)?;
    let options = encoder_options();
    let columns = batches.iter().map(|batch| Column::of(&schema.fields()[said], batch.column(said), &options));
    let mut columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(|error| failed(py, &error))?;
    py.detach(|| builder.shared.expect(batches.iter().map(RecordBatch::num_rows).sum()));
    let of = &builder.shared.builder;
    let conversations = columns
        .iter_mut()
        .zip(&batches)
        .flat_map(|(column, batch)| (0..batch.num_rows()).map(move |row| column.conversation(row, of).or_raise(py)));
    let prompts = builder.ids_of(py, conversations, threads, budget)?;
    let metadata = HashMap::from([("metatok".to_owned(), metadata(py, builder, prompts.len())?)]);
    let table_of_ids = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut prompts = prompts.into_iter();
    let mut row = first_row;
    let built = batches.iter().map(|batch| {
        let of_batch: Vec<Vec<u32>> = prompts.by_ref().take(batch.num_rows()).collect();
        let own = id.map(|id| (&schema.fields()[id], batch.column(id)));
        let mut columns = vec![ids_of_rows(own, row, of_batch.len())?];
        columns.extend((0..3).map(|_| Arc::new(Int64Array::new_null(of_batch.len())) as ArrayRef));
        columns.push(Arc::new(lists(&of_batch)));
        columns.extend(keep.iter().map(|&kept| Arc::clone(batch.column(kept))));
        row += of_batch.len();
        RecordBatch::try_new(Arc::clone(&table_of_ids), columns)
    });
    let built = built.collect::<Result<Vec<_>, ArrowError>>().map_err(|error| failed(py, &error))?;
    PyTable::try_new(built, table_of_ids)
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

/// The columns of the table of ids.
///
/// # Errors
/// Names one that there would be twice.
fn fields(ids_column: &str, keep: impl Iterator<Item = Field>) -> metatok::Result<Vec<Field>> {
    let ids = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let own = [
        Field::new("id", DataType::Utf8, false),
        Field::new("repeat", DataType::Int64, true),
        Field::new("turn", DataType::Int64, true),
        Field::new("max_out_len", DataType::Int64, true),
        Field::new(ids_column, ids, false),
    ];
    let fields: Vec<Field> = own.into_iter().chain(keep).collect();
    let mut seen = HashSet::new();
    match fields.iter().find(|field| !seen.insert(field.name())) {
        None => Ok(fields),
        Some(field) => Err(ErrorKind::Usage(format!("the table would have two columns {:?}", field.name())).into()),
    }
}

/// The ids of rows: strings and dates as they are, other values as JSON; rows without one have their numbers.
fn ids_of_rows(own: Option<(&FieldRef, &ArrayRef)>, first: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
    let mut ids = StringBuilder::with_capacity(rows, 8 * rows);
    let options = encoder_options();
    let texts = own.and_then(|(_, own)| Texts::of(own));
    let mut values = match (&texts, own) {
        (None, Some((field, own))) => Some(Records::of(field, own, &options)?),
        _ => None,
    };
    for row in 0..rows {
        let own: Option<Cow<'_, str>> = match (&texts, &mut values) {
            (Some(texts), _) => texts.get(row).map(Cow::Borrowed),
            (None, Some(values)) => values.json(row).map(unquoted),
            (None, None) => None,
        };
        ids.append_value(own.unwrap_or_else(|| (first + row).to_string().into()));
    }
    Ok(Arc::new(ids.finish()))
}

/// A string without the quotes of JSON.
fn unquoted(json: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(json).map_or(Cow::Borrowed(json), Cow::Owned)
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
