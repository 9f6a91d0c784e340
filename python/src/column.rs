//! A column of Arrow as conversations: plain messages and texts as they are, everything else as records of JSON.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use metatok::conversation::{ChatMessage, Conversation};
use metatok::dataset::records;
use metatok::error::{At, ErrorKind, Place, Result};
use pyo3::pyfunction;

use crate::binary::BinaryAsText;
use crate::conversation::{Reader, Said};
use crate::json_text::is_json;

/// The columns that say more of the conversations in a column.
#[pyfunction]
pub(crate) fn companions(column: &str, is_text: bool) -> Vec<&'static str> {
    records::companions(column, is_text).collect()
}

/// The key of a record for the conversations of a column.
#[pyfunction]
pub(crate) fn conversation_key(column: &str, is_text: bool) -> &str {
    records::conversation_key(column, is_text)
}

/// A column of conversations.
pub(crate) enum Column<'a> {
    Texts(Texts<'a>),
    Messages(Messages<'a>),
    Json(JsonColumn<'a>),
    Several(Several<'a>),
}

impl<'a> Column<'a> {
    /// With the columns that say more of its conversations.
    ///
    /// # Errors
    /// For a type that is not a conversation.
    pub(crate) fn of(
        (field, column): (&'a FieldRef, &'a ArrayRef),
        companions: impl Iterator<Item = (&'a FieldRef, &'a ArrayRef)>,
        form: &'a JsonForm,
    ) -> std::result::Result<Self, ArrowError> {
        if !may_be_said(column.data_type()) {
            let what = "a conversation is text, a list of messages, or a struct with one";
            return Err(ArrowError::NotYetImplemented(what.to_owned()));
        }
        // As in files: such a text is JSON, and not what a person says.
        if is_text(field) && matches!(field.name().as_str(), "messages" | "conversation" | "conversations") {
            let what = match field.extension_type_name() {
                None => {
                    "texts are no lists of messages: read them if they are JSON, or rename the column to build them as they are"
                }
                Some(name) => &format!("objects of {name:?} are bytes here: convert the column to lists of structs"),
            };
            return Err(ArrowError::NotYetImplemented(what.to_owned()));
        }
        let companions = companions.filter(|(_, column)| column.null_count() < column.len());
        let companions = companions.map(|(field, column)| JsonColumn::of(field, column, form));
        let companions = companions.collect::<std::result::Result<Vec<_>, _>>()?;
        if !companions.is_empty() {
            return Ok(Self::Several(Several {
                said: JsonColumn::of(field, column, form)?,
                companions,
                record: String::new(),
            }));
        }
        if let Some(texts) = Texts::of(field, column).filter(|texts| texts.nulls() == 0) {
            return Ok(Self::Texts(texts));
        }
        match Messages::of(column) {
            Some(messages) => Ok(Self::Messages(messages)),
            None => Ok(Self::Json(JsonColumn::of(field, column, form)?)),
        }
    }

    /// The conversation of a row.
    ///
    /// # Errors
    /// As for a line of a file; for a null.
    pub(crate) fn conversation(&mut self, row: usize, reader: &mut Reader<'_>, place: impl Display) -> Result<Said> {
        match self {
            Self::Texts(texts) => {
                reader.record(Conversation::Text(texts.get(row).unwrap_or_default().to_owned()).into(), place)
            }
            Self::Messages(messages) => match messages.conversation(row) {
                Some(conversation) => reader.record(conversation.into(), place),
                None => reader.json("[]", place),
            },
            Self::Json(column) => reader.json(column.json(row)?.ok_or_else(null)?, place),
            Self::Several(several) => reader.json(several.json(row)?, place),
        }
    }
}

fn null() -> ErrorKind {
    ErrorKind::Conversation("the row has no conversation, but a null".to_owned())
}

/// Conversations, and the columns that say more of them.
pub(crate) struct Several<'a> {
    said: JsonColumn<'a>,
    companions: Vec<JsonColumn<'a>>,
    record: String,
}

impl Several<'_> {
    /// The record of a row.
    fn json(&mut self, row: usize) -> Result<&str> {
        let Self { said, companions, record } = self;
        let column = said.column;
        let said = said.json(row)?.ok_or_else(null)?;
        record.clear();
        // A record of its own says everything.
        if said.starts_with('{') {
            record.push_str(said);
            return Ok(record);
        }
        record.push_str(&format!("{{{:?}:{said}", records::conversation_key(column, said.starts_with('"'))));
        for companion in companions {
            let column = companion.column;
            if let Some(value) = companion.json(row)? {
                record.push_str(&format!(",{column:?}:{value}"));
            }
        }
        record.push('}');
        Ok(record)
    }
}

/// Whether values of this type can be conversations: text, bytes that may be text, lists and structs.
fn may_be_said(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => may_be_said(values),
        DataType::Null | DataType::FixedSizeBinary(_) => true,
        kind => kind.is_nested() || kind.is_string() || kind.is_binary(),
    }
}

/// Whether the values of a column are texts, or bytes that may be.
pub(crate) fn is_text(field: &Field) -> bool {
    fn is_of_text(kind: &DataType) -> bool {
        match kind {
            DataType::Dictionary(_, values) => is_of_text(values),
            kind => kind.is_string() || kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)),
        }
    }

    is_of_text(field.data_type()) && !is_json(field)
}

/// Lists of structs that have nothing but a role and a content, both strings.
pub(crate) struct Messages<'a> {
    offsets: Offsets<'a>,
    roles: Texts<'a>,
    contents: Texts<'a>,
}

impl<'a> Messages<'a> {
    fn of(column: &'a ArrayRef) -> Option<Self> {
        let (offsets, messages) = match column.data_type() {
            DataType::List(_) => (Offsets::Small(column.as_list::<i32>().offsets()), column.as_list::<i32>().values()),
            DataType::LargeList(_) => {
                (Offsets::Large(column.as_list::<i64>().offsets()), column.as_list::<i64>().values())
            }
            _ => return None,
        };
        let messages = messages.as_struct_opt()?;
        let texts = |name| {
            let at = messages.fields().iter().position(|field| field.name() == name)?;
            Texts::of(&messages.fields()[at], messages.column(at))
        };
        let (roles, contents) = (texts("role")?, texts("content")?);
        let nulls = column.null_count() + messages.null_count() + contents.nulls() + roles.nulls();
        (nulls == 0 && has_only_these(messages)).then_some(Self { offsets, roles, contents })
    }

    /// The messages of a row, if there are any.
    fn conversation(&self, row: usize) -> Option<Conversation> {
        let text = |texts: &Texts<'_>, at| texts.get(at).unwrap_or_default().to_owned();
        let message = |at| ChatMessage::new(text(&self.roles, at), text(&self.contents, at));
        let range = self.offsets.range(row);
        (!range.is_empty()).then(|| range.map(message).collect())
    }
}

/// Whether all other keys of messages are null everywhere.
fn has_only_these(messages: &StructArray) -> bool {
    let others = messages.column_names().into_iter().zip(messages.columns());
    let mut others = others.filter(|(name, _)| !["role", "content"].contains(name));
    others.all(|(_, column)| column.null_count() == column.len())
}

/// Where the messages of each row are.
enum Offsets<'a> {
    Small(&'a OffsetBuffer<i32>),
    Large(&'a OffsetBuffer<i64>),
}

impl Offsets<'_> {
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match self {
            Self::Small(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Self::Large(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        }
    }
}

/// How the values of a [`JsonColumn`] are written.
pub(crate) struct JsonForm {
    options: EncoderOptions,
    binary: BinaryAsText,
}

impl Default for JsonForm {
    fn default() -> Self {
        let binary = BinaryAsText::default();
        let options = EncoderOptions::default().with_explicit_nulls(true);
        Self { options: options.with_encoder_factory(Arc::new(binary.clone())), binary }
    }
}

/// Values of any type, as JSON. Keys that are null are written, as `to_pylist` gives them.
pub(crate) struct JsonColumn<'a> {
    column: &'a str,
    encoder: NullableEncoder<'a>,
    binary: &'a BinaryAsText,
    json: Vec<u8>,
}

impl<'a> JsonColumn<'a> {
    /// # Errors
    /// For a type that JSON does not have.
    pub(crate) fn of(
        field: &'a FieldRef,
        column: &'a ArrayRef,
        JsonForm { options, binary }: &'a JsonForm,
    ) -> std::result::Result<Self, ArrowError> {
        let encoder = make_encoder(field, column, options)?;
        Ok(Self { column: field.name(), encoder, binary, json: Vec::new() })
    }

    /// The value of a row; none if it is null, as NaN is.
    ///
    /// # Errors
    /// For bytes that are not text.
    pub(crate) fn json(&mut self, row: usize) -> Result<Option<&str>> {
        if self.encoder.is_null(row) {
            return Ok(None);
        }
        self.json.clear();
        self.encoder.encode(row, &mut self.json);
        if let Some(what) = self.binary.take_wrong() {
            return Err(ErrorKind::Conversation(what)).at(Place::column(self.column));
        }
        let is_some = self.json != b"null";
        str::from_utf8(&self.json)
            .map(|json| Some(json).filter(|_| is_some))
            .map_err(|error| ErrorKind::Conversation(error.to_string()).into())
    }
}

/// Strings, however they are stored.
pub(crate) enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    /// None for values that are not strings, or that are JSON.
    pub(crate) fn of(field: &Field, column: &'a ArrayRef) -> Option<Self> {
        match column.data_type() {
            _ if is_json(field) => None,
            DataType::Utf8 => Some(Self::Small(column.as_string())),
            DataType::LargeUtf8 => Some(Self::Large(column.as_string())),
            DataType::Utf8View => Some(Self::View(column.as_string_view())),
            _ => None,
        }
    }

    fn nulls(&self) -> usize {
        match self {
            Self::Small(texts) => texts.null_count(),
            Self::Large(texts) => texts.null_count(),
            Self::View(texts) => texts.null_count(),
        }
    }

    /// The string of a row; none if it is null.
    pub(crate) fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Self::Small(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::Large(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Self::View(texts) => texts.is_valid(row).then(|| texts.value(row)),
        }
    }
}
