//! Rows of a dataset: their values, which of them are asked, and the columns that are derived from them or kept beside their prompts.

mod arrow;
mod derived_columns;
mod kept_columns;
mod python_repr;
mod repeats;
mod row;
mod split;
mod value;
mod value_json;
mod value_path;

pub use arrow::arrow_rows;
pub use derived_columns::DerivedColumns;
pub use kept_columns::{KeptColumns, RowKey};
pub use repeats::{PickedRow, Repeats};
pub use row::Row;
pub(crate) use row::{Fields, listed};
pub use split::SplitRange;
pub use value::Value;
pub(crate) use value_json::Columns;
pub(crate) use value_path::{Path, whole_number};
