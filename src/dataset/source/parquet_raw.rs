//! A Parquet file whose texts and INT96 times are read as bytes: the library would end the file at text that is not UTF-8,
//! and round such times to milliseconds.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type};

/// How many bytes an INT96 has.
const INT96_BYTES: i32 = 12;

/// Whether a field holds text.
pub(super) fn is_text(field: &Type) -> bool {
    let converted = field.get_basic_info().converted_type();
    let is_of_text = matches!(converted, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON);
    is_of_text && field.is_primitive() && field.get_physical_type() == PhysicalType::BYTE_ARRAY
}

/// Whether a field holds JSON, as `Json()` of `datasets` writes it.
pub(super) fn is_json(field: &Type) -> bool {
    is_text(field) && field.get_basic_info().converted_type() == ConvertedType::JSON
}

/// Whether a field holds times as INT96.
pub(super) fn is_int96(field: &Type) -> bool {
    field.is_primitive() && field.get_physical_type() == PhysicalType::INT96
}

/// A file with such fields.
pub(super) struct RawFile<R>(pub(super) R);

impl<R: FileReader> FileReader for RawFile<R> {
    fn metadata(&self) -> &ParquetMetaData {
        self.0.metadata()
    }

    fn num_row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    fn get_row_group(&self, i: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        let group = self.0.get_row_group(i)?;
        let metadata = raw_metadata(group.metadata())?;
        Ok(Box::new(RawRowGroup { group, metadata }))
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

/// A group of its rows.
struct RawRowGroup<'f> {
    group: Box<dyn RowGroupReader + 'f>,
    /// What reading rows needs to know, with the columns as bytes.
    metadata: RowGroupMetaData,
}

impl RowGroupReader for RawRowGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        &self.metadata
    }

    fn num_columns(&self) -> usize {
        self.group.num_columns()
    }

    fn get_column_page_reader(&self, i: usize) -> Result<Box<dyn PageReader>> {
        self.group.get_column_page_reader(i)
    }

    fn get_column_reader(&self, i: usize) -> Result<ColumnReader> {
        Ok(get_column_reader(self.metadata.column(i).column_descr_ptr(), self.get_column_page_reader(i)?))
    }

    fn get_column_bloom_filter(&self, i: usize) -> Option<&Sbbf> {
        self.group.get_column_bloom_filter(i)
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

fn raw_metadata(group: &RowGroupMetaData) -> Result<RowGroupMetaData> {
    let column = |column: &ColumnChunkMetaData| ColumnChunkMetaData::builder(raw_column(column)?).build();
    RowGroupMetaData::builder(group.schema_descr_ptr())
        .set_num_rows(group.num_rows())
        .set_column_metadata(group.columns().iter().map(column).collect::<Result<_>>()?)
        .build()
}

fn raw_column(column: &ColumnChunkMetaData) -> Result<ColumnDescPtr> {
    let own = column.column_descr();
    let field = own.self_type();
    let bytes = match (is_text(field), is_int96(field)) {
        (true, _) => Type::primitive_type_builder(field.name(), PhysicalType::BYTE_ARRAY),
        (_, true) => {
            Type::primitive_type_builder(field.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY).with_length(INT96_BYTES)
        }
        (false, false) => return Ok(column.column_descr_ptr()),
    };
    let bytes = bytes.with_repetition(field.get_basic_info().repetition()).build()?;
    let (def_level, rep_level) = (own.max_def_level(), own.max_rep_level());
    Ok(Arc::new(ColumnDescriptor::new(Arc::new(bytes), def_level, rep_level, own.path().clone())))
}
