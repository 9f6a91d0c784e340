//! Rows of Parquet files as rows of a dataset: what JSON lacks, such as dates and decimals, is text.

use jiff::SignedDuration;
use jiff::civil::{Time, date};
use parquet::file::reader::FileReader;
use parquet::record::{Field, Row as ParquetRow};
use parquet::schema::types::Type;
use serde::Deserialize;

use crate::dataset::rows::{Entries, Row, Value};
use crate::dataset::source::nesting::DEEPEST;
use crate::dataset::source::parquet_meaning::Meaning;
use crate::dataset::source::{BadRow, check_nesting};

/// Whether rows may be nested too deeply: a repeated group is a list of dicts.
pub(super) fn may_be_deep(file: &impl FileReader) -> bool {
    depth(file.metadata().file_metadata().schema()) > DEEPEST / 2
}

fn depth(schema: &Type) -> usize {
    let of_fields = if schema.is_group() { schema.get_fields() } else { &[] };
    1 + of_fields.iter().map(|field| depth(field)).max().unwrap_or_default()
}

/// The row with columns of these meanings, or the error in it.
pub(super) fn row(row: ParquetRow, meaning: &Meaning, may_be_deep: bool) -> Result<Row, BadRow> {
    let columns = row.into_columns().into_iter().enumerate().map(|(at, (name, field))| match field {
        Field::Str(text) => (name, Value::Text(text)),
        other => (name, value(&other, meaning.of_field(at))),
    });
    let row = Row::from(columns.collect::<Entries<Value>>());
    if may_be_deep { not_too_deep(row) } else { Ok(row) }
}

fn not_too_deep(row: Row) -> Result<Row, BadRow> {
    let json = row.to_json().map_err(|error| BadRow::Wrong(error.to_string().into(), Vec::new()))?;
    match check_nesting(&json) {
        Ok(()) => Ok(row),
        Err(error) => Err(BadRow::Wrong(error.to_string().into(), json.into_bytes())),
    }
}

fn value(field: &Field, meaning: &Meaning) -> Value {
    match field {
        Field::Str(text) => Value::Text(text.clone()),
        Field::Group(row) => {
            let fields = row.get_column_iter().enumerate();
            dict(fields.map(|(at, (name, field))| (name.clone(), value(field, meaning.of_field(at)))))
        }
        Field::MapInternal(map) => {
            let of_entry = meaning.of_field(0).of_items();
            let (of_key, of_value) = (of_entry.of_field(0), of_entry.of_field(1));
            let text = |key| value(key, of_key).text().into_owned();
            dict(map.entries().iter().map(|(key, field)| (text(key), value(field, of_value))))
        }
        Field::ListInternal(list) => {
            Value::List(list.elements().iter().map(|item| value(item, meaning.of_items())).collect())
        }
        // JSON has neither NaN nor infinities.
        Field::Float16(number) => Value::Float(f64::from(*number)),
        Field::Float(number) => Value::Float(f64::from(*number)),
        Field::Double(number) => Value::Float(*number),
        Field::Bytes(bytes) if *meaning == Meaning::Uuid => Value::Text(uuid(bytes.data())),
        // Some writers do not say which bytes are text.
        Field::Bytes(bytes) if str::from_utf8(bytes.data()).is_ok() => {
            Value::Text(String::from_utf8_lossy(bytes.data()).into_owned())
        }
        Field::Long(at) if *meaning == Meaning::TimestampNanos => timestamp(SignedDuration::from_nanos(*at), field),
        Field::TimestampMillis(at) => timestamp(SignedDuration::from_millis(*at), field),
        Field::TimestampMicros(at) => timestamp(SignedDuration::from_micros(*at), field),
        Field::Long(at) if *meaning == Meaning::TimeNanos => time(SignedDuration::from_nanos(*at)),
        Field::TimeMillis(at) => time(SignedDuration::from_millis(i64::from(*at))),
        Field::TimeMicros(at) => time(SignedDuration::from_micros(*at)),
        Field::Decimal(_) => match of_json(field) {
            // Of a whole number, the library writes the point too.
            Value::Text(number) => Value::Text(number.trim_end_matches('.').to_owned()),
            other => other,
        },
        other => of_json(other),
    }
}

fn dict(entries: impl Iterator<Item = (String, Value)>) -> Value {
    let entries: Entries<Value> = entries.collect();
    Value::Dict(entries.entries.into_iter().map(|(name, value)| (Value::Text(name), value)).collect())
}

/// A point in time as Python writes it.
fn timestamp(since_epoch: SignedDuration, field: &Field) -> Value {
    // An instant of jiff ends a day before year 10000 does, so that it has a date in every time zone.
    let Ok(at) = date(1970, 1, 1).at(0, 0, 0, 0).checked_add(since_epoch) else { return of_json(field) };
    Value::Text(format!("{}{}", at.strftime("%Y-%m-%d %H:%M:%S"), fraction(at.subsec_nanosecond())))
}

/// A time of day as Python writes it.
fn time(since_midnight: SignedDuration) -> Value {
    let at = Time::midnight().saturating_add(since_midnight);
    Value::Text(format!("{}{}", at.strftime("%H:%M:%S"), fraction(at.subsec_nanosecond())))
}

/// The part of a second: microseconds if there are any, and nanoseconds where these are not enough.
fn fraction(nanoseconds: i32) -> String {
    match nanoseconds {
        0 => String::new(),
        some if some % 1_000 == 0 => format!(".{:06}", some / 1_000),
        some => format!(".{some:09}"),
    }
}

/// With hyphens.
fn uuid(bytes: &[u8]) -> String {
    let hyphen = |at: usize| if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
    bytes.iter().enumerate().map(|(at, byte)| format!("{}{byte:02x}", hyphen(at))).collect()
}

fn of_json(field: &Field) -> Value {
    Value::deserialize(field.to_json_value()).expect("every value of JSON is one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_times_of_python() {
        for (at, expected) in [
            (-62_135_596_800_000_000, "0001-01-01 00:00:00"),
            (253_402_207_200_000_000, "9999-12-30 22:00:00"),
            (253_402_214_400_000_000, "9999-12-31 00:00:00"),
            (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
        ] {
            assert_eq!(value(&Field::TimestampMicros(at), &Meaning::Own).text(), expected);
        }
    }
}
