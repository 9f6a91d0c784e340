//! Rows of Parquet files as rows of a dataset: what JSON lacks, such as dates and decimals, is text.

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time, date};
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
    let mut fault = None;
    let column = |(at, (name, field)): (usize, (String, Field))| {
        let mut of_column = None;
        let value = value(&field, meaning.of_field(at), &mut of_column);
        if let (Some(what), None) = (of_column, &fault) {
            fault = Some(format!("column {name:?} {what}"));
        }
        (name, value)
    };
    let row = Row::from(row.into_columns().into_iter().enumerate().map(column).collect::<Entries<Value>>());
    match fault {
        Some(fault) => Err(BadRow::Wrong(fault.into(), row.to_json().unwrap_or_default().into_bytes())),
        None if may_be_deep => not_too_deep(row),
        None => Ok(row),
    }
}

fn not_too_deep(row: Row) -> Result<Row, BadRow> {
    let json = row.to_json().map_err(|error| BadRow::Wrong(error.to_string().into(), Vec::new()))?;
    match check_nesting(&json) {
        Ok(()) => Ok(row),
        Err(error) => Err(BadRow::Wrong(error.to_string().into(), json.into_bytes())),
    }
}

/// What is wrong with a value; the first fault counts.
type Fault = Option<String>;

const NOT_UTF_8: &str = "has text that is not UTF-8; write the file with this text decoded from its own encoding";
const NO_YEAR_OF_PYTHON: &str =
    "is a date or time outside the years 1 to 9999, which are all that Python has; write null or a text instead";

/// A value as Python has it, or as it is in the file if something is wrong with it.
fn value(field: &Field, meaning: &Meaning, fault: &mut Fault) -> Value {
    match field {
        Field::Str(text) => Value::Text(text.clone()),
        Field::Group(row) => {
            let fields = row.get_column_iter().enumerate();
            dict(fields.map(|(at, (name, field))| (name.clone(), value(field, meaning.of_field(at), fault))))
        }
        Field::MapInternal(map) => {
            let of_entry = meaning.of_field(0).of_items();
            let (of_key, of_value) = (of_entry.of_field(0), of_entry.of_field(1));
            dict(map.entries().iter().map(|(key, field)| {
                let key = value(key, of_key, fault).text().into_owned();
                (key, value(field, of_value, fault))
            }))
        }
        Field::ListInternal(list) => {
            Value::List(list.elements().iter().map(|item| value(item, meaning.of_items(), fault)).collect())
        }
        // JSON has neither NaN nor infinities.
        Field::Float16(number) => Value::Float(f64::from(*number)),
        Field::Float(number) => Value::Float(f64::from(*number)),
        Field::Double(number) => Value::Float(*number),
        Field::Bytes(bytes) if *meaning == Meaning::Uuid => Value::Text(uuid(bytes.data())),
        Field::Bytes(bytes) if *meaning == Meaning::Int96 => match since_epoch_of_int96(bytes.data()) {
            Some(since_epoch) => timestamp(since_epoch, since_epoch.as_nanos(), fault),
            None => of_json(field),
        },
        Field::Bytes(_) if *meaning == Meaning::Medium => of_json(field),
        Field::Bytes(bytes) => match str::from_utf8(bytes.data()) {
            // What is none, such as the NaN that Python writes, stays a text: perhaps nobody reads this column.
            Ok(json) if *meaning == Meaning::Json => {
                Value::from_json(json).unwrap_or_else(|_| Value::Text(json.to_owned()))
            }
            // Some writers do not say which bytes are text.
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => {
                if matches!(meaning, Meaning::Text | Meaning::Json) {
                    fault.get_or_insert_with(|| NOT_UTF_8.to_owned());
                }
                of_json(field)
            }
        },
        Field::Date(days) => match since_1970(SignedDuration::from_hours(24 * i64::from(*days))) {
            Some(at) => Value::Text(at.strftime("%Y-%m-%d").to_string()),
            None => outside_of_python(i128::from(*days), fault),
        },
        Field::Long(at) if *meaning == Meaning::TimestampNanos => {
            timestamp(SignedDuration::from_nanos(*at), i128::from(*at), fault)
        }
        Field::TimestampMillis(at) => timestamp(SignedDuration::from_millis(*at), i128::from(*at), fault),
        Field::TimestampMicros(at) => timestamp(SignedDuration::from_micros(*at), i128::from(*at), fault),
        Field::Long(at) if *meaning == Meaning::TimeNanos => {
            time(SignedDuration::from_nanos(*at), i128::from(*at), fault)
        }
        Field::TimeMillis(at) => time(SignedDuration::from_millis(i64::from(*at)), i128::from(*at), fault),
        Field::TimeMicros(at) => time(SignedDuration::from_micros(*at), i128::from(*at), fault),
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

/// A point in time as Python writes it, or its number in the file.
fn timestamp(since_epoch: SignedDuration, number: i128, fault: &mut Fault) -> Value {
    let Some(at) = since_1970(since_epoch) else { return outside_of_python(number, fault) };
    Value::Text(format!("{}{}", at.strftime("%Y-%m-%d %H:%M:%S"), fraction(at.subsec_nanosecond())))
}

/// The date and time, in a year that Python has.
fn since_1970(since_epoch: SignedDuration) -> Option<DateTime> {
    // An instant of jiff ends a day before year 10000 does, so that it has a date in every time zone.
    let at = date(1970, 1, 1).at(0, 0, 0, 0).checked_add(since_epoch).ok()?;
    (at.year() > 0).then_some(at)
}

fn outside_of_python(number: i128, fault: &mut Fault) -> Value {
    fault.get_or_insert_with(|| format!("has {number}, which {NO_YEAR_OF_PYTHON}"));
    Value::Int(number.to_string())
}

/// The time since 1970 from 8 bytes of nanoseconds since midnight, and 4 of the day.
fn since_epoch_of_int96(bytes: &[u8]) -> Option<SignedDuration> {
    const JULIAN_DAY_OF_1970: i64 = 2_440_588;
    let (nanoseconds, day) = bytes.split_first_chunk()?;
    let day = i64::from(u32::from_le_bytes(day.try_into().ok()?)) - JULIAN_DAY_OF_1970;
    SignedDuration::from_hours(24 * day).checked_add(SignedDuration::from_nanos(i64::from_le_bytes(*nanoseconds)))
}

/// A time of day as Python writes it, or its number in the file.
fn time(since_midnight: SignedDuration, number: i128, fault: &mut Fault) -> Value {
    let Ok(at) = Time::midnight().checked_add(since_midnight) else {
        fault.get_or_insert_with(|| format!("has {number}, which is not within a day"));
        return Value::Int(number.to_string());
    };
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
    fn json_is_read_and_what_is_none_stays_a_text() {
        let bytes = |text: &str| Field::Bytes(text.as_bytes().to_vec().into());
        for (json, expected) in [
            (r#"{"b": [1, 18446744073709551616], "a": null}"#, r#"{"b":[1,18446744073709551616],"a":null}"#),
            (r#""Hi!""#, r#""Hi!""#),
            ("null", "null"),
        ] {
            let mut fault = None;
            let read = value(&bytes(json), &Meaning::Json, &mut fault);
            assert_eq!((Value::from_json(expected).ok(), None), (Some(read), fault), "{json}");
        }
        for broken in ["{", "", "NaN", &"[".repeat(128)] {
            let mut fault = None;
            assert_eq!(value(&bytes(broken), &Meaning::Json, &mut fault), Value::from(broken));
            assert_eq!(fault, None, "{broken}");
        }
    }

    #[test]
    fn the_first_and_the_last_times_of_python() {
        for (at, expected) in [
            (-62_135_596_800_000_000, "0001-01-01 00:00:00"),
            (253_402_207_200_000_000, "9999-12-30 22:00:00"),
            (253_402_214_400_000_000, "9999-12-31 00:00:00"),
            (253_402_300_799_999_999, "9999-12-31 23:59:59.999999"),
        ] {
            assert_eq!(value(&Field::TimestampMicros(at), &Meaning::Own, &mut None).text(), expected);
        }
        for outside in [
            Field::TimestampMicros(-62_135_596_800_000_001),
            Field::TimestampMicros(253_402_300_800_000_000),
            Field::TimestampMillis(i64::MIN),
            Field::Date(2_932_897),
            Field::Date(-719_163),
            Field::Date(i32::MAX),
        ] {
            let mut fault = None;
            value(&outside, &Meaning::Own, &mut fault);
            assert!(fault.is_some_and(|fault| fault.ends_with(NO_YEAR_OF_PYTHON)), "{outside:?}");
        }
        for (at, expected) in [(86_399_999_999, "23:59:59.999999"), (86_400_000_000, "86400000000"), (-1, "-1")] {
            let mut fault = None;
            assert_eq!(value(&Field::TimeMicros(at), &Meaning::Own, &mut fault).text(), expected);
            assert_eq!(fault.is_some_and(|fault| fault.ends_with("not within a day")), expected == at.to_string());
        }
        assert_eq!(value(&Field::Date(2_932_896), &Meaning::Own, &mut None).text(), "9999-12-31");
        assert_eq!(value(&Field::Date(-719_162), &Meaning::Own, &mut None).text(), "0001-01-01");
    }
}
