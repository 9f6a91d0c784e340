//! Tables of Arrow: a column of conversations becomes a table of ids, as `metatok build` writes it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use metatok::build::InputOptions;
use metatok::dataset::records::companions;
use metatok::error::{At, ErrorKind, Place};
use metatok::sink::{Table, TableFormat};
use metatok::{Error, Fingerprint};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::at_least_one::Threads;
use crate::builder::{Builder, budget_of};
use crate::column::{Column, RecordForm, Records, Texts, is_text};
use crate::conversation::{Reader, Said};
use crate::error::{OrRaise, exception};

/// The column with the limits of answers.
const MAX_OUT_LEN: &str = "max_out_len";

/// Builds a column of conversations, and returns a table with the schema of `metatok build --format parquet`, and after
/// it the columns to keep. Rows without an id have their numbers, from `first_row` on; those without a limit of their own
/// have `max_out_len`.
///
/// # Errors
/// `TypeError` for what is not a table, and for a column with a type that is not a conversation; `UsageError` for a
/// column that the table would have twice; `InputError` for one that is missing; otherwise as for lines of a file.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
pub(crate) fn build_arrow(
    py: Python<'_>,
    builder: &Builder,
    table: &Bound<'_, PyAny>,
    column: &str,
    id_column: Option<&str>,
    ids_column: &str,
    keep: Vec<String>,
    first_row: usize,
    max_out_len: Option<u64>,
    threads: Option<Threads>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let (batches, schema) = table_of(table)?;
    let index = |name: &str| index(&schema, name).or_raise(py);
    let said = index(column)?;
    let id = id_column.map(index).transpose()?.or_else(|| schema.index_of("id").ok());
    let limit = schema.index_of(MAX_OUT_LEN).ok();
    let keep = keep.iter().filter(|name| *name != MAX_OUT_LEN || limit.is_none());
    let keep = keep.map(|name| index(name)).collect::<PyResult<Vec<_>>>()?;
    let fields = fields(ids_column, keep.iter().map(|&kept| schema.field(kept).clone())).or_raise(py)?;
    let form = RecordForm::default();
    let is_text = is_text(schema.field(said).data_type());
    let more: Vec<usize> = companions(column, is_text).filter_map(|name| schema.index_of(name).ok()).collect();
    let columns = batches.iter().map(|batch| {
        let of = |at: usize| (&schema.fields()[at], batch.column(at));
        Column::of(of(said), more.iter().map(|at| of(*at)), &form)
    });
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>();
    let mut columns = columns.map_err(|error| unread(&schema.fields()[said], &error))?;
    let mut first = 0;
    let limits = batches.iter().map(|batch| {
        let own = limit.map(|limit| (&schema.fields()[limit], batch.column(limit)));
        let rows = first..first + batch.num_rows();
        first = rows.end;
        limits(py, own, rows, max_out_len, &form)
    });
    let limits = limits.collect::<PyResult<Vec<_>>>()?;
    py.detach(|| builder.shared.expect(limits.iter().map(Vec::len).sum()));
    let mut reader = Reader::new(&builder.shared.builder);
    let rows = limits.iter().enumerate().flat_map(|(i, limits)| limits.iter().enumerate().map(move |row| (i, row)));
    let conversations = rows.enumerate().map(|(number, (i, (row, limit)))| {
        let said = columns[i].conversation(row, &mut reader, Place::Conversation(number)).or_raise(py)?;
        Ok(Said { max_out_len: *limit, ..said })
    });
    let prompts = builder.each_of(py, conversations, 0, threads, budget, |built| built.prompt.input_ids)?;
    builder.shared.tell(py, reader)?;
    let metadata = metadata(py, builder, prompts.len(), max_out_len, budget)?;
    let metadata = HashMap::from([("metatok".to_owned(), metadata)]);
    let table_of_ids = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut prompts = prompts.into_iter();
    let mut row = first_row;
    let built = batches.iter().zip(&limits).map(|(batch, limits)| {
        let of_batch: Vec<Vec<u32>> = prompts.by_ref().take(batch.num_rows()).collect();
        let own = id.map(|id| (&schema.fields()[id], batch.column(id)));
        let mut columns = vec![ids_of_rows(py, own, row, of_batch.len(), &form)?];
        columns.extend((0..2).map(|_| Arc::new(Int64Array::new_null(of_batch.len())) as ArrayRef));
        columns.push(Arc::new(
            limits.iter().map(|limit| limit.and_then(|limit| i64::try_from(limit).ok())).collect::<Int64Array>(),
        ));
        columns.push(Arc::new(lists(&of_batch)));
        columns.extend(keep.iter().map(|&kept| Arc::clone(batch.column(kept))));
        row += of_batch.len();
        RecordBatch::try_new(Arc::clone(&table_of_ids), columns).map_err(|error| failed(py, &error))
    });
    let built = built.collect::<PyResult<Vec<_>>>()?;
    PyTable::try_new(built, table_of_ids)
}

/// The batches of a table, and their schema.
///
/// # Errors
/// `TypeError` for what is none.
fn table_of(table: &Bound<'_, PyAny>) -> PyResult<(Vec<RecordBatch>, SchemaRef)> {
    let read = table.extract::<AnyRecordBatch>().map_err(|error| match table.get_type().qualname() {
        Err(error) => error,
        Ok(name) => PyTypeError::new_err(format!(
            "build_arrow() takes a table of Arrow, such as one of pyarrow, polars or pandas, not {name}: {}",
            error.value(table.py())
        )),
    });
    Ok(read?.into_table()?.into_inner())
}

/// The exception for a column with values of a type that cannot be read.
fn unread(field: &Field, error: &ArrowError) -> PyErr {
    let what = match error {
        ArrowError::NotYetImplemented(what) | ArrowError::InvalidArgumentError(what) => what.clone(),
        error => error.to_string(),
    };
    PyTypeError::new_err(format!("column {:?} has values of type {}: {what}", field.name(), field.data_type()))
}

/// How many tokens the answers of these rows may have: the table's own numbers, or `default`.
///
/// # Errors
/// `InputError` for what is not a number of tokens.
fn limits(
    py: Python<'_>,
    own: Option<(&FieldRef, &ArrayRef)>,
    rows: Range<usize>,
    default: Option<u64>,
    form: &RecordForm,
) -> PyResult<Vec<Option<u64>>> {
    let Some((field, own)) = own else { return Ok(vec![default; rows.len()]) };
    let mut values = Records::of(field, own, form).map_err(|error| unread(field, &error))?;
    let mut limit = |row| -> metatok::Result<Option<u64>> {
        let Some(json) = values.json(row)? else { return Ok(default) };
        let number = json.parse().ok().filter(|number| i64::try_from(*number).is_ok());
        let wrong = || ErrorKind::Conversation(format!("{json} is not a number of tokens"));
        Ok(Some(number.ok_or_else(wrong).at(Place::column(MAX_OUT_LEN))?))
    };
    let limits = rows.clone().enumerate().map(|(row, number)| limit(row).at(Place::Conversation(number)));
    limits.collect::<metatok::Result<Vec<_>>>().or_raise(py)
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

fn metadata(
    py: Python<'_>,
    builder: &Builder,
    rows: usize,
    max_out_len: Option<u64>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = builder.recipe.options().or_raise(py)?;
    let budget = budget.map(budget_of).transpose()?;
    let of_input = InputOptions {
        max_seq_len: budget.map(|budget| budget.max_seq_len),
        max_out_len: max_out_len.and_then(|limit| usize::try_from(limit).ok()),
        truncation: budget.map(|budget| budget.truncation),
        ..InputOptions::default()
    };
    let of = &builder.shared.builder;
    let fingerprint = py.detach(|| of_input.fingerprint(Fingerprint::new(&builder.model, of.tokenizer(), &options)));
    Ok(Table::new(of, TableFormat::Arrow, fingerprint.or_raise(py)?).metadata(rows))
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
        Field::new(MAX_OUT_LEN, DataType::Int64, true),
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
fn ids_of_rows(
    py: Python<'_>,
    own: Option<(&FieldRef, &ArrayRef)>,
    first: usize,
    rows: usize,
    form: &RecordForm,
) -> PyResult<ArrayRef> {
    let mut ids = StringBuilder::with_capacity(rows, 8 * rows);
    let texts = own.and_then(|(_, own)| Texts::of(own));
    let mut values = match (&texts, own) {
        (None, Some((field, own))) => Some(Records::of(field, own, form).map_err(|error| unread(field, &error))?),
        _ => None,
    };
    for row in 0..rows {
        let own: Option<Cow<'_, str>> = match (&texts, &mut values) {
            (Some(texts), _) => texts.get(row).map(Cow::Borrowed),
            (None, Some(values)) => values.json(row).at(Place::Conversation(first + row)).or_raise(py)?.map(unquoted),
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
