//! What a Parquet file's schema says of values that the library reads as plain numbers and bytes.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::schema::types::Type;

use crate::dataset::source::parquet_raw::{is_int96, is_json, is_text};
use crate::error::{ErrorKind, Result};

/// The meaning of a field's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// That of the value itself.
    Own,
    /// Text.
    Text,
    /// A text that is the JSON of the value.
    Json,
    /// A time as Spark and Impala wrote it: 8 bytes of nanoseconds since midnight, and 4 of the Julian day.
    Int96,
    /// Nanoseconds from 1970 on.
    TimestampNanos,
    /// Nanoseconds since midnight.
    TimeNanos,
    Uuid,
    /// Bytes of an image, audio or video, even if they could be text.
    Medium,
    /// A group, with the meanings of its fields.
    Group(Vec<Meaning>),
    /// A list, with the meaning of its items.
    List(Box<Meaning>),
}

impl Meaning {
    /// The meanings of all columns.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] for a column that the library cannot read.
    pub(super) fn of_schema(schema: &Type) -> Result<Self> {
        for column in schema.get_fields() {
            if has_interval(column) {
                let what = format!("column {:?} has the type INTERVAL, which metatok does not read", column.name());
                return Err(ErrorKind::Parse(what).with_way_out("write the file without this column"));
            }
        }
        Ok(Self::of_fields(schema.get_fields().iter().map(|column| Self::of(column))))
    }

    fn of(field: &Type) -> Self {
        let meaning = match field.is_group() {
            false => Self::of_leaf(field),
            true if field.get_basic_info().converted_type() == ConvertedType::LIST => match field.get_fields() {
                [items] => return Self::of_item(items).in_list(),
                _ => Self::Own,
            },
            true => Self::of_group(field),
        };
        let info = field.get_basic_info();
        if info.has_repetition() && info.repetition() == Repetition::REPEATED { meaning.in_list() } else { meaning }
    }

    /// The meaning of a list's item: the field in a group of one field, or in older files the repeated field itself.
    fn of_item(repeated: &Type) -> Self {
        let is_item = !repeated.is_group()
            || repeated.get_fields().len() != 1
            || repeated.name() == "array"
            || repeated.name().ends_with("_tuple");
        match is_item {
            false => Self::of(&repeated.get_fields()[0]),
            true if repeated.is_group() => Self::of_group(repeated),
            true => Self::of_leaf(repeated),
        }
    }

    fn of_leaf(field: &Type) -> Self {
        match field.get_basic_info().logical_type_ref() {
            Some(LogicalType::Timestamp(timestamp)) if timestamp.unit == TimeUnit::NANOS => Self::TimestampNanos,
            Some(LogicalType::Time(time)) if time.unit == TimeUnit::NANOS => Self::TimeNanos,
            Some(LogicalType::Uuid) => Self::Uuid,
            _ if is_json(field) => Self::Json,
            _ if is_text(field) => Self::Text,
            _ if is_int96(field) => Self::Int96,
            _ => Self::Own,
        }
    }

    fn of_group(group: &Type) -> Self {
        let field = |field: &Type| if is_bytes_of_medium(field) { Self::Medium } else { Self::of(field) };
        Self::of_fields(group.get_fields().iter().map(|of_group| field(of_group)))
    }

    fn of_fields(fields: impl Iterator<Item = Self>) -> Self {
        let fields: Vec<Self> = fields.collect();
        if fields.iter().all(|field| *field == Self::Own) { Self::Own } else { Self::Group(fields) }
    }

    fn in_list(self) -> Self {
        if self == Self::Own { Self::Own } else { Self::List(self.into()) }
    }

    /// Whether there is JSON in it, which may be nested as deeply as it likes.
    pub(super) fn has_json(&self) -> bool {
        match self {
            Self::Json => true,
            Self::Group(fields) => fields.iter().any(Self::has_json),
            Self::List(items) => items.has_json(),
            Self::Own
            | Self::Text
            | Self::Int96
            | Self::TimestampNanos
            | Self::TimeNanos
            | Self::Uuid
            | Self::Medium => false,
        }
    }

    /// The meaning of the field at this place of a group.
    pub(super) fn of_field(&self, at: usize) -> &Self {
        match self {
            Self::Group(fields) => fields.get(at).unwrap_or(&Self::Own),
            _ => &Self::Own,
        }
    }

    /// The meaning of a list's items.
    pub(super) fn of_items(&self) -> &Self {
        if let Self::List(items) = self { items } else { &Self::Own }
    }
}

/// Whether a group has an image, audio or video in it, as `datasets` writes them.
fn is_bytes_of_medium(field: &Type) -> bool {
    field.name() == "bytes"
        && field.is_primitive()
        && field.get_physical_type() == PhysicalType::BYTE_ARRAY
        && !is_text(field)
}

fn has_interval(field: &Type) -> bool {
    match field.is_group() {
        true => field.get_fields().iter().any(|field| has_interval(field)),
        false => field.get_basic_info().converted_type() == ConvertedType::INTERVAL,
    }
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn meanings_are_where_the_fields_are() {
        let schema = "message m {
            optional int64 plain;
            optional int64 at (TIMESTAMP(NANOS, true));
            optional group days (LIST) { repeated group list { optional int64 element (TIMESTAMP(NANOS, false)); } }
            optional group old (LIST) { repeated int64 array (TIME(NANOS, false)); }
            optional group inner { required binary name (UTF8); required fixed_len_byte_array(16) key (UUID); }
            repeated int64 bare (TIME(NANOS, false));
            optional int96 spark;
            optional binary any (JSON);
            optional group tools (LIST) { repeated group list { optional binary element (JSON); } }
            optional group image { optional binary bytes; optional binary path (UTF8); }
            optional group images (LIST) { repeated group list { optional group element { optional binary bytes; } } }
            optional binary bytes;
        }";
        let schema = parse_message_type(schema).expect("it is a schema");
        let meaning = Meaning::of_schema(&schema).expect("it has no interval");
        let expected = [
            Meaning::Own,
            Meaning::TimestampNanos,
            Meaning::List(Meaning::TimestampNanos.into()),
            Meaning::List(Meaning::TimeNanos.into()),
            Meaning::Group(vec![Meaning::Text, Meaning::Uuid]),
            Meaning::List(Meaning::TimeNanos.into()),
            Meaning::Int96,
            Meaning::Json,
            Meaning::List(Meaning::Json.into()),
            Meaning::Group(vec![Meaning::Medium, Meaning::Text]),
            Meaning::List(Meaning::Group(vec![Meaning::Medium]).into()),
            Meaning::Own,
        ];
        for (at, expected) in expected.iter().enumerate() {
            assert_eq!(meaning.of_field(at), expected, "{at}");
        }
    }

    #[test]
    fn a_column_of_intervals_is_named() {
        let schema = "message m { optional group g { optional fixed_len_byte_array(12) iv (INTERVAL); } }";
        let schema = parse_message_type(schema).expect("it is a schema");
        let error = Meaning::of_schema(&schema).expect_err("it has one");
        assert!(error.to_string().contains(r#"column "g""#), "{error}");
    }
}
