//! Rows of Parquet files as rows of a dataset: what JSON lacks, such as dates and decimals, is text.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::file::reader::FileReader;
use parquet::record::{Field, Row as ParquetRow};
use parquet::schema::types::Type;
use serde::Deserialize;

use crate::dataset::rows::{Entries, Row, Value};
use crate::dataset::source::nesting::DEEPEST;
use crate::dataset::source::{BadRow, check_nesting};

/// Whether rows may be nested too deeply: a repeated group is a list of dicts.
pub(super) fn may_be_deep(file: &impl FileReader) -> bool {
    depth(file.metadata().file_metadata().schema()) > DEEPEST / 2
}

fn depth(schema: &Type) -> usize {
    let of_fields = if schema.is_group() { schema.get_fields() } else { &[] };
    1 + of_fields.iter().map(|field| depth(field)).max().unwrap_or_default()
}

/// The row, or the error in it.
pub(super) fn row(row: ParquetRow, may_be_deep: bool) -> Result<Row, BadRow> {
    let columns = row.into_columns().into_iter().map(|(name, field)| match field {
        Field::Str(text) => (name, Value::Text(text)),
        other => (name, value(&other)),
    });
    let row = Row::from(columns.collect::<Entries<Value>>());
    if may_be_deep { not_too_deep(row) } else { Ok(row) }
}

fn not_too_deep(row: Row) -> Result<Row, BadRow> {
    let json = row.to_json().map_err(|error| BadRow { what: error.to_string(), bytes: Vec::new() })?;
    match check_nesting(&json) {
        Ok(()) => Ok(row),
        Err(error) => Err(BadRow { what: error.to_string(), bytes: json.into_bytes() }),
    }
}

fn value(field: &Field) -> Value {
    match field {
        Field::Str(text) => Value::Text(text.clone()),
        Field::Group(row) => {
            let entries = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
            let entries: Entries<Value> = entries.collect();
            Value::Dict(entries.entries.into_iter().map(|(name, value)| (Value::Text(name), value)).collect())
        }
        Field::ListInternal(list) => Value::List(list.elements().iter().map(value).collect()),
        // JSON has neither NaN nor infinities.
        Field::Float16(number) => Value::Float(f64::from(*number)),
        Field::Float(number) => Value::Float(f64::from(*number)),
        Field::Double(number) => Value::Float(*number),
        // Some writers do not say which bytes are text.
        Field::Bytes(bytes) if str::from_utf8(bytes.data()).is_ok() => {
            Value::Text(String::from_utf8_lossy(bytes.data()).into_owned())
        }
        Field::TimestampMillis(at) => time(Timestamp::from_millisecond(*at), field),
        Field::TimestampMicros(at) => time(Timestamp::from_microsecond(*at), field),
        other => of_json(other),
    }
}

/// A time as Python writes it, with microseconds if there are any.
fn time(at: Result<Timestamp, jiff::Error>, field: &Field) -> Value {
    let Ok(at) = at else { return of_json(field) };
    let at = at.to_zoned_datetime(TimeZone::UTC).datetime();
    let format = if at.subsec_nanosecond() == 0 { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S.%6f" };
    Value::Text(at.strftime(format).to_string())
}

fn of_json(field: &Field) -> Value {
    Value::deserialize(field.to_json_value()).expect("every value of JSON is one")
}
