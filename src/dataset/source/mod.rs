//! Files of rows and conversations: turns bytes into records.

mod compressed;
mod csv;
mod csv_records;
mod field;
mod formats;
mod items;
mod later;
mod layout;
mod lines;
mod nesting;
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_depth;
#[cfg(feature = "parquet")]
mod parquet_meaning;
#[cfg(feature = "parquet")]
mod parquet_raw;
#[cfg(feature = "parquet")]
mod parquet_row;
mod raw_record;
mod records;
mod scan;
mod side_by_side;
mod table;

pub(crate) use compressed::decompressed;
pub use csv::{CsvOptions, Quotes};
pub(crate) use formats::{RecordSource, is_compressed, open};
pub(crate) use items::Items;
pub use layout::Holds;
pub(crate) use lines::{Line, Lines, Wrong, fill};
pub(crate) use nesting::check_nesting;
pub use raw_record::RawRecord;
pub(crate) use raw_record::{FileRecord, is_of_no_json, rejected_line};
pub(crate) use records::Records;
pub(crate) use scan::Scan;
pub(crate) use side_by_side::SideBySide;
pub(crate) use table::{BadRow, Table, TableRows, table_of};
