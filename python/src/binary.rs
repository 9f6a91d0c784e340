//! Binary values of Arrow as text where they are UTF-8: some writers of tables do not say which bytes are text.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder};
use arrow_schema::{ArrowError, DataType, FieldRef};

use crate::as_in_files;

/// Writes binary values as text, and remembers one that is none. What a file has in another way than Arrow's JSON is written
/// as in a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct BinaryAsText {
    is_wrong: Arc<AtomicBool>,
}

impl BinaryAsText {
    /// Whether a value that was written since this was asked is not text.
    pub(crate) fn take_wrong(&self) -> bool {
        self.is_wrong.swap(false, Ordering::Relaxed)
    }
}

impl EncoderFactory for BinaryAsText {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let value: Box<dyn Fn(usize) -> &'a [u8] + 'a> = match array.data_type() {
            DataType::Binary => Box::new(|row| array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Box::new(|row| array.as_binary::<i64>().value(row)),
            DataType::BinaryView => Box::new(|row| array.as_binary_view().value(row)),
            kind @ DataType::FixedSizeBinary(_) => {
                return Err(ArrowError::NotYetImplemented(format!("{kind} is neither text nor JSON")));
            }
            _ => return Ok(as_in_files::encoder(array)),
        };
        let encoder = Text { value, is_wrong: Arc::clone(&self.is_wrong) };
        Ok(Some(NullableEncoder::new(Box::new(encoder), array.nulls().cloned())))
    }
}

struct Text<'a> {
    value: Box<dyn Fn(usize) -> &'a [u8] + 'a>,
    is_wrong: Arc<AtomicBool>,
}

impl Encoder for Text<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        match str::from_utf8((self.value)(row)) {
            Ok(text) => out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes()),
            Err(_) => {
                self.is_wrong.store(true, Ordering::Relaxed);
                out.extend_from_slice(b"null");
            }
        }
    }
}
