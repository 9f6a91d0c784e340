//! Values of Arrow as JSON that is the same as of the rows of a file: times and decimals are text, as Python writes them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTemporalType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_json::writer::{Encoder, NullableEncoder};
use arrow_schema::{DataType, TimeUnit};

/// The value of a row as JSON.
type Write<'a> = Box<dyn Fn(usize) -> String + 'a>;

/// Writes what the default encoder writes in another way; none for other types.
pub(crate) fn encoder(array: &dyn Array) -> Option<NullableEncoder<'_>> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let write: Write<'_> = match array.data_type() {
        DataType::Float16 => float(array.as_primitive::<Float16Type>(), |number| number.to_f64()),
        DataType::Float32 => float(array.as_primitive::<Float32Type>(), f64::from),
        DataType::Decimal32(..) => decimal::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimal::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimal::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimal::<Decimal256Type>(array),
        DataType::Duration(Second) => duration::<DurationSecondType>(array),
        DataType::Duration(Millisecond) => duration::<DurationMillisecondType>(array),
        DataType::Duration(Microsecond) => duration::<DurationMicrosecondType>(array),
        DataType::Duration(Nanosecond) => duration::<DurationNanosecondType>(array),
        DataType::Timestamp(Second, _) => timestamp::<TimestampSecondType>(array),
        DataType::Timestamp(Millisecond, _) => timestamp::<TimestampMillisecondType>(array),
        DataType::Timestamp(Microsecond, _) => timestamp::<TimestampMicrosecondType>(array),
        DataType::Timestamp(Nanosecond, _) => timestamp::<TimestampNanosecondType>(array),
        DataType::Time32(Second) => time::<Time32SecondType>(array, 1),
        DataType::Time32(_) => time::<Time32MillisecondType>(array, 1_000),
        DataType::Time64(Microsecond) => time::<Time64MicrosecondType>(array, 1_000_000),
        DataType::Time64(_) => time::<Time64NanosecondType>(array, NANOSECONDS),
        _ => return None,
    };
    Some(NullableEncoder::new(Box::new(Written(write)), array.nulls().cloned()))
}

struct Written<'a>(Write<'a>);

impl Encoder for Written<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice((self.0)(row).as_bytes());
    }
}

/// JSON has neither NaN nor infinities.
fn float<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, as_f64: fn(T::Native) -> f64) -> Write<'_> {
    Box::new(move |row| serde_json::Value::from(as_f64(array.value(row))).to_string())
}

fn decimal<T: arrow_array::types::DecimalType>(array: &dyn Array) -> Write<'_> {
    let array = array.as_primitive::<T>();
    Box::new(move |row| format!("\"{}\"", array.value_as_string(row)))
}

/// As many of its units.
fn duration<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Write<'_> {
    let array = array.as_primitive::<T>();
    Box::new(move |row| array.value(row).to_string())
}

/// In UTC, without a zone.
fn timestamp<T: ArrowTemporalType>(array: &dyn Array) -> Write<'_>
where
    i64: From<T::Native>,
{
    let array = array.as_primitive::<T>();
    Box::new(move |row| match array.value_as_datetime(row) {
        Some(at) => {
            let nanoseconds = at.and_utc().timestamp_subsec_nanos();
            format!("\"{}{}\"", at.format("%Y-%m-%d %H:%M:%S"), fraction(nanoseconds.into()))
        }
        None => i64::from(array.value(row)).to_string(),
    })
}

const NANOSECONDS: i64 = 1_000_000_000;

/// Writes a time of day that is counted in so many parts of a second.
fn time<T: ArrowPrimitiveType>(array: &dyn Array, parts: i64) -> Write<'_>
where
    i64: From<T::Native>,
{
    let array = array.as_primitive::<T>();
    Box::new(move |row| {
        let at = i64::from(array.value(row));
        let seconds = at.div_euclid(parts);
        let nanoseconds = at.rem_euclid(parts) * (NANOSECONDS / parts);
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        format!("\"{hours:02}:{minutes:02}:{:02}{}\"", seconds % 60, fraction(nanoseconds))
    })
}

/// The part of a second: microseconds if there are any, and nanoseconds where these are not enough.
fn fraction(nanoseconds: i64) -> String {
    match nanoseconds {
        0 => String::new(),
        some if some % 1_000 == 0 => format!(".{:06}", some / 1_000),
        some => format!(".{some:09}"),
    }
}
