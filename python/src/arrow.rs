//! Tables of Arrow: a column of conversations becomes a table of ids, as `metatok build` writes it.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use metatok::build::InputOptions;
use metatok::error::{ErrorKind, Fault, Place};
use metatok::sink::{Table, TableFormat};
use metatok::{ContextBudget, Error, Fingerprint};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::at_least_one::Threads;
use crate::builder::{Builder, budget_of};
use crate::column::JsonForm;
use crate::conversation::{Reader, Said};
use crate::error::{OrRaise, exception};
use crate::many::build_many;
use crate::repeated_ids::tell_repeated;
use crate::setting_name::setting_name;
use crate::table_rows::{MAX_OUT_LEN, RowIds, TableColumns, TableRows};

/// Builds a column of conversations, and returns a table with the schema of `metatok build --format parquet`, and after
/// it the columns to keep. Rows without an id have their numbers, from `first_row` on; those without a limit of their own
/// have `max_out_len`. With `error_column`, rows that cannot be built have no ids, but there what is wrong.
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
    error_column: Option<&str>,
    keep: Vec<String>,
    first_row: usize,
    max_out_len: Option<u64>,
    threads: Option<Threads>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let (batches, schema) = table_of(table)?;
    let columns = TableColumns::find(&schema, column, id_column, &keep).or_raise(py)?;
    let kept = columns.keep.iter().map(|&kept| schema.field(kept).clone());
    let fields = fields(ids_column, error_column, kept).or_raise(py)?;
    let form = JsonForm::default();
    let mut first = first_row;
    let ids = batches.iter().map(|batch| {
        let ids = RowIds::of(&columns, batch, first, &form, py);
        first += batch.num_rows();
        ids
    });
    let ids = ids.collect::<PyResult<Vec<_>>>()?;
    let rows = batches.iter().map(|batch| TableRows::of(&columns, batch, &form));
    let mut rows = rows.collect::<PyResult<Vec<_>>>()?;
    py.detach(|| builder.shared.expect(first - first_row));
    let mut reader = Reader::new(&builder.shared.builder);
    let budget = budget.map(budget_of).transpose()?;
    let is_kept = |error: &Error| error_column.is_some() && error.fault() == Fault::Input;
    let numbers = batches.iter().enumerate().flat_map(|(i, batch)| (0..batch.num_rows()).map(move |row| (i, row)));
    let conversations = numbers.enumerate().map(|(number, (i, row))| {
        let place = Place::Conversation(number);
        match rows[i].conversation(row, max_out_len, &mut reader, &place) {
            Err(error) if is_kept(&error) => Ok(Err(text(&error))),
            said => Ok(Ok(said.or_raise(py)?)),
        }
    });
    let build = |session: &mut _, said: Result<Said, String>| match said {
        Err(error) => Ok(Row { error: Some(error), ..Row::default() }),
        Ok(said) => match builder.built(session, &said, budget.as_ref()) {
            Err(error) if is_kept(&error) => Ok(Row { error: Some(text(&error)), ..Row::default() }),
            built => built.map(|built| Row {
                input_ids: builder.shared.ids_alone(built),
                max_out_len: said.max_out_len.and_then(|limit| i64::try_from(limit).ok()),
                error: None,
            }),
        },
    };
    let built = build_many(py, conversations, 0, &builder.shared, threads, build);
    let built = built.map_err(|error| of_row(py, error, &ids))?;
    builder.shared.tell(py, reader)?;
    if ids.iter().any(RowIds::has_own) {
        tell_repeated(py, ids.iter().flat_map(|ids| ids.texts.iter().flatten()))?;
    }
    let metadata = metadata(py, builder, built.len(), max_out_len, budget)?;
    let metadata = HashMap::from([("metatok".to_owned(), metadata)]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let mut built = built.as_slice();
    let batches = batches.iter().zip(ids).map(|(batch, ids)| {
        let (rows, rest) = built.split_at(batch.num_rows());
        built = rest;
        let kept = columns.keep.iter().map(|&kept| Arc::clone(batch.column(kept)));
        let columns = own_columns(ids.texts, rows, error_column.is_some()).into_iter().chain(kept).collect();
        RecordBatch::try_new(Arc::clone(&schema), columns)
            .map_err(|error| exception(py, &ErrorKind::Invalid(error.to_string()).into()))
    });
    PyTable::try_new(batches.collect::<PyResult<_>>()?, schema)
}

/// What became of a row.
#[derive(Debug, Default)]
struct Row {
    input_ids: Vec<u32>,
    max_out_len: Option<i64>,
    error: Option<String>,
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
    let read = read?;
    // As of arrow 59: a slice of structs in lists of a fixed length.
    let table = catch_unwind(AssertUnwindSafe(|| read.into_table())).map_err(|_| {
        let what = "the table cannot be read, because it is a slice: copy it, for example with table.take";
        PyTypeError::new_err(what)
    })?;
    Ok(table?.into_inner())
}

/// What is wrong with a row, for its place in the column of errors.
fn text(error: &Error) -> String {
    error.display_with(&setting_name).to_string()
}

/// The exception with the row's id, if it is of one that has an id.
fn of_row(py: Python<'_>, error: PyErr, ids: &[RowIds<'_>]) -> PyErr {
    let named = || {
        let value = error.value(py);
        let number: usize = value.getattr("place").ok()?.get_item("conversation").ok()?.extract().ok()?;
        let (ids, row) = ids.iter().flat_map(|ids| (0..ids.texts.len()).map(move |row| (ids, row))).nth(number)?;
        let id = ids.own(row, py).ok()??;
        value.call_method1("_of_row", (id,)).ok().map(PyErr::from_value)
    };
    named().unwrap_or(error)
}

fn metadata(
    py: Python<'_>,
    builder: &Builder,
    rows: usize,
    max_out_len: Option<u64>,
    budget: Option<ContextBudget>,
) -> PyResult<String> {
    let options = builder.recipe.options().or_raise(py)?;
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
fn fields(
    ids_column: &str,
    error_column: Option<&str>,
    keep: impl Iterator<Item = Field>,
) -> metatok::Result<Vec<Field>> {
    let ids = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let own = [
        Field::new("id", DataType::Utf8, false),
        Field::new("repeat", DataType::Int64, true),
        Field::new("turn", DataType::Int64, true),
        Field::new(MAX_OUT_LEN, DataType::Int64, true),
        Field::new(ids_column, ids, error_column.is_some()),
    ];
    let error = error_column.map(|name| Field::new(name, DataType::Utf8, true));
    let fields: Vec<Field> = own.into_iter().chain(error).chain(keep).collect();
    let mut seen = HashSet::new();
    match fields.iter().find(|field| !seen.insert(field.name())) {
        None => Ok(fields),
        Some(field) => Err(ErrorKind::Usage(format!("the table would have two columns {:?}", field.name())).into()),
    }
}

/// The columns of [`fields`] before those that are kept.
fn own_columns(ids: StringArray, rows: &[Row], with_errors: bool) -> Vec<ArrayRef> {
    let none = Arc::new(Int64Array::new_null(rows.len()));
    let limits: Int64Array = rows.iter().map(|row| row.max_out_len).collect();
    let mut columns: Vec<ArrayRef> =
        vec![Arc::new(ids), Arc::clone(&none) as _, none, Arc::new(limits), Arc::new(lists(rows))];
    if with_errors {
        columns.push(Arc::new(rows.iter().map(|row| row.error.as_deref()).collect::<StringArray>()));
    }
    columns
}

/// The ids of rows; a null for one that could not be built.
fn lists(rows: &[Row]) -> ListArray {
    let tokens = rows.iter().map(|row| row.input_ids.len()).sum();
    let mut lists = ListBuilder::with_capacity(Int64Builder::with_capacity(tokens), rows.len());
    for row in rows {
        row.input_ids.iter().for_each(|&id| lists.values().append_value(i64::from(id)));
        lists.append(row.error.is_none());
    }
    lists.finish()
}
