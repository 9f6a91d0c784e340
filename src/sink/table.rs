//! Tables, a row for each prompt, as Arrow's IPC files and as Parquet.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder as _, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::builder::PromptBuilder;
use crate::error::{ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::sink::file_origin::{FileOrigin, METADATA, not_ours};
use crate::sink::{Accepts, FileSink, OutputForm, PromptRecord, PromptSpool, Sink};

pub(crate) const ARROW_FORM: OutputForm = OutputForm {
    name: "arrow",
    about: "One table, a row for each prompt, as Arrow's IPC file",
    extension: "arrow",
    accepts: Accepts::FILE,
    open: Some(|builder, options| Ok(Sink::file(Table::new(builder, TableFormat::Arrow, options.fingerprint)))),
};

pub(crate) const PARQUET_FORM: OutputForm = OutputForm {
    name: "parquet",
    about: "The same table as Parquet",
    extension: "parquet",
    accepts: Accepts::FILE,
    open: Some(|builder, options| Ok(Sink::file(Table::new(builder, TableFormat::Parquet, options.fingerprint)))),
};

/// How many rows are written, and can be read, at once: fewer if they have more bytes than this.
const ROWS: usize = 4096;
const BATCH: usize = 32 << 20;

/// How many bytes of Parquet are in memory before they are written.
const ROW_GROUP: usize = 128 << 20;

/// How many bytes are written at once.
const BUFFER: usize = 1 << 18;

/// A file format for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Arrow's IPC file, which can be mapped into memory.
    Arrow,
    /// Parquet, compressed with Snappy.
    Parquet,
}

/// Writes `id` (a string; other ids as JSON), `repeat`, `turn` and `max_out_len` if a prompt has them, and `input_ids`,
/// a list of `i64`, not padded. The metadata has the stops and the fingerprint.
///
/// A few rows are in memory at a time.
#[derive(Debug)]
pub struct Table {
    format: TableFormat,
    origin: FileOrigin,
}

/// The metadata of a file.
#[derive(Serialize)]
struct Metadata<'a> {
    rows: usize,
    #[serde(flatten)]
    origin: &'a FileOrigin,
}

impl Table {
    /// Creates a sink for the prompts of a builder, with their fingerprint if it is known.
    pub fn new(builder: &PromptBuilder, format: TableFormat, fingerprint: impl Into<Option<Fingerprint>>) -> Self {
        Self { format, origin: FileOrigin::new(builder, fingerprint.into()) }
    }

    /// The metadata of this many rows, as JSON; its key is `metatok`.
    ///
    /// ```
    /// use metatok::PromptBuilder;
    /// use metatok::sink::{Table, TableFormat};
    ///
    /// let table = Table::new(&PromptBuilder::demo()?, TableFormat::Arrow, None);
    /// assert_eq!(table.metadata(2), r#"{"rows":2,"stop_token_ids":[1052,1050],"stop":[]}"#);
    /// # Ok::<(), metatok::Error>(())
    /// ```
    pub fn metadata(&self, rows: usize) -> String {
        serde_json::to_string(&Metadata { rows, origin: &self.origin }).expect("strings and numbers are JSON")
    }
}

fn schema(metadata: String) -> SchemaRef {
    let ids = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let fields = [
        ("id", DataType::Utf8, false),
        ("repeat", DataType::Int64, true),
        ("turn", DataType::Int64, true),
        ("max_out_len", DataType::Int64, true),
        ("input_ids", ids, false),
    ];
    let fields: Vec<Field> = fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).into();
    Arc::new(Schema::new_with_metadata(fields, HashMap::from([(METADATA.to_owned(), metadata)])))
}

impl FileSink for Table {
    fn unit(&self) -> &'static str {
        "a table"
    }

    fn finish(&self, prompts: &PromptSpool, file: &mut File) -> Result<()> {
        let metadata = self.metadata(prompts.len());
        let schema = schema(metadata.clone());
        let mut prompts = prompts.prompts()?;
        let batches = std::iter::from_fn(|| batch(&schema, &mut prompts).transpose());
        let file = BufWriter::with_capacity(BUFFER, file);
        let written = match self.format {
            TableFormat::Arrow => arrow(&schema, batches, file).map_err(io::Error::other),
            TableFormat::Parquet => parquet(&schema, batches, metadata, file).map_err(io::Error::other),
        };
        Ok(written?)
    }
}

/// The next rows; none at the end.
fn batch(
    schema: &SchemaRef,
    prompts: &mut impl Iterator<Item = io::Result<PromptRecord>>,
) -> std::result::Result<Option<RecordBatch>, ArrowError> {
    let (mut id, mut repeat) = (StringBuilder::new(), Int64Builder::new());
    let (mut turn, mut max_out_len) = (Int64Builder::new(), Int64Builder::new());
    let mut input_ids = ListBuilder::new(Int64Builder::new());
    let mut bytes = 0;
    while id.len() < ROWS && bytes < BATCH {
        let Some(prompt) = prompts.next().transpose()? else { break };
        bytes += size_of_val(&prompt.input_ids[..]) * 2 + prompt.id.get().len();
        let text: Option<String> = serde_json::from_str(prompt.id.get()).ok();
        id.append_value(text.as_deref().unwrap_or(prompt.id.get()));
        repeat.append_option(number(prompt.repeat)?);
        turn.append_option(number(prompt.turn)?);
        max_out_len.append_option(number(prompt.max_out_len)?);
        input_ids.append_value(prompt.input_ids.iter().map(|&id| Some(i64::from(id))));
    }
    if id.is_empty() {
        return Ok(None);
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(id.finish()),
        Arc::new(repeat.finish()),
        Arc::new(turn.finish()),
        Arc::new(max_out_len.finish()),
        Arc::new(input_ids.finish()),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns).map(Some)
}

fn number<N: TryInto<i64>>(number: Option<N>) -> std::result::Result<Option<i64>, ArrowError> {
    let too_large = |_| ArrowError::InvalidArgumentError("the number is too large for a table".into());
    number.map(|number| number.try_into().map_err(too_large)).transpose()
}

fn arrow(
    schema: &Schema,
    batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    out: BufWriter<&mut File>,
) -> std::result::Result<(), ArrowError> {
    let mut file = FileWriter::try_new(out, schema)?;
    for batch in batches {
        file.write(&batch?)?;
    }
    Ok(file.into_inner()?.flush()?)
}

fn parquet(
    schema: &SchemaRef,
    batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
    metadata: String,
    out: BufWriter<&mut File>,
) -> std::result::Result<(), ParquetError> {
    // Not every reader uses Arrow's schema.
    let metadata = KeyValue::new(METADATA.to_owned(), Some(metadata));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_bytes(Some(ROW_GROUP))
        .set_key_value_metadata(Some(vec![metadata]))
        .build();
    let mut file = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties))?;
    for batch in batches {
        file.write(&batch?)?;
    }
    Ok(file.into_inner()?.flush()?)
}

/// The metadata of a table, as JSON. In Parquet, a part of a larger table does not say how many rows it has; the file does.
///
/// # Errors
/// [`ErrorKind::Parse`] if it is not such a file.
pub(crate) fn metadata(format: TableFormat, file: File) -> Result<String> {
    let parse = |name: &str, what: String| ErrorKind::Parse(format!("this is not {name} file: {what}"));
    let (found, rows) = match format {
        TableFormat::Arrow => {
            let file = FileReader::try_new(BufReader::new(file), None);
            let file = file.map_err(|error| parse("an Arrow", error.to_string()))?;
            (file.schema().metadata().get(METADATA).cloned(), None)
        }
        TableFormat::Parquet => {
            let file = SerializedFileReader::new(file);
            let file = file.map_err(|error| parse("a Parquet", error.to_string()))?;
            let file = file.metadata().file_metadata();
            let pair = file.key_value_metadata().into_iter().flatten().find(|pair| pair.key == METADATA);
            (pair.and_then(|pair| pair.value.clone()), Some(file.num_rows()))
        }
    };
    let found = found.ok_or_else(not_ours)?;
    let origin = serde_json::from_str::<Map<String, Value>>(&found).ok().zip(rows);
    Ok(origin.map_or(found, |(mut origin, rows)| {
        origin.entry("rows").or_insert(rows.into());
        Value::Object(origin).to_string()
    }))
}
