//! Binary values of Arrow as text, which must be UTF-8: some writers of tables do not say which bytes are text. Those of images,
//! audio and video are base64, whatever they are.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder};
use arrow_schema::{ArrowError, DataType, FieldRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::wrong::Wrong;
use crate::{as_in_files, json_text};

/// The key under which `datasets` has the bytes of an image, audio or video.
const BYTES: &str = "bytes";

/// Writes binary values as text, and remembers one that is none. What a file has in another way than Arrow's JSON is written
/// as in a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct BinaryAsText(Wrong);

impl BinaryAsText {
    /// What is wrong with a value that was written since this was asked.
    pub(crate) fn take_wrong(&self) -> Option<String> {
        self.0.take()
    }
}

impl EncoderFactory for BinaryAsText {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        if json_text::is_json(json_text::field_of(field, array.data_type()))
            && let Some(encoder) = json_text::encoder(array, self.0.clone())
        {
            return Ok(Some(encoder));
        }
        let value: Box<dyn Fn(usize) -> &'a [u8] + 'a> = match array.data_type() {
            DataType::Binary => Box::new(|row| array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Box::new(|row| array.as_binary::<i64>().value(row)),
            DataType::BinaryView => Box::new(|row| array.as_binary_view().value(row)),
            kind @ DataType::FixedSizeBinary(_) => {
                return Err(ArrowError::NotYetImplemented(format!("{kind} is neither text nor JSON")));
            }
            _ => return Ok(as_in_files::encoder(array)),
        };
        let encoder = Text { value, is_base64: field.name() == BYTES, wrong: self.0.clone() };
        Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
    }
}

struct Text<'a> {
    value: Box<dyn Fn(usize) -> &'a [u8] + 'a>,
    is_base64: bool,
    wrong: Wrong,
}

impl Encoder for Text<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let bytes = (self.value)(row);
        match str::from_utf8(bytes) {
            // As of Parquet.
            _ if self.is_base64 => out.extend_from_slice(format!("\"{}\"", STANDARD.encode(bytes)).as_bytes()),
            Ok(text) => out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes()),
            Err(_) => {
                self.wrong.set("the bytes are not text: they are not UTF-8".to_owned());
                out.extend_from_slice(b"null");
            }
        }
    }
}
