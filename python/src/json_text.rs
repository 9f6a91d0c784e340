//! Values of Arrow that are JSON in a text, as `Json()` of `datasets` stores them: the extension `arrow.json`.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_json::writer::{Encoder, NullableEncoder};
use arrow_schema::{DataType, Field};
use serde::de::IgnoredAny;

use crate::wrong::Wrong;

/// Whether values of a field are JSON.
pub(crate) fn is_json(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.json")
}

/// The field that has values of this type: as of arrow 59, its encoders pass that of a list on for the list's items.
pub(crate) fn field_of<'f>(field: &'f Field, values: &DataType) -> &'f Field {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView};
    match field.data_type() {
        own if own == values => field,
        List(item) | LargeList(item) | ListView(item) | LargeListView(item) | FixedSizeList(item, _) => {
            field_of(item, values)
        }
        _ => field,
    }
}

/// Writes the values as they are; none for a type that is no text.
pub(crate) fn encoder<'a>(array: &'a dyn Array, wrong: Wrong) -> Option<NullableEncoder<'a>> {
    let value: Box<dyn Fn(usize) -> &'a str + 'a> = match array.data_type() {
        DataType::Utf8 => Box::new(|row| array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Box::new(|row| array.as_string::<i64>().value(row)),
        DataType::Utf8View => Box::new(|row| array.as_string_view().value(row)),
        _ => return None,
    };
    Some(NullableEncoder::new(Box::new(Json { value, wrong }), array.nulls().cloned()))
}

struct Json<'a> {
    value: Box<dyn Fn(usize) -> &'a str + 'a>,
    wrong: Wrong,
}

impl Encoder for Json<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let json = (self.value)(row).trim();
        match serde_json::from_str::<IgnoredAny>(json) {
            Ok(_) => out.extend_from_slice(json.as_bytes()),
            Err(error) => {
                self.wrong.set(format!("a text is JSON by its type, but cannot be read as such: {error}"));
                out.extend_from_slice(b"null");
            }
        }
    }
}
