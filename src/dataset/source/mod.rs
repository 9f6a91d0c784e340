//! Files of rows and of conversations: from bytes to one record after the other.

mod compressed;
mod csv;
mod formats;
mod items;
mod layout;
mod lines;
mod made_lines;
mod nesting;
mod parquet;
mod records;
mod scan;

pub(crate) use compressed::decompressed;
pub(crate) use formats::{is_compressed, rows_of};
pub(crate) use items::Items;
pub use layout::Holds;
pub(crate) use lines::{BadRow, Line, Lines, fill};
pub(crate) use made_lines::{json_lines, made, write_object};
pub(crate) use nesting::check_nesting;
pub(crate) use records::Records;
pub(crate) use scan::Scan;
