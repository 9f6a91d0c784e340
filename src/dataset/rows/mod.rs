//! Rows of a dataset: their values, which of them are asked, and the columns that are derived from them or written with
//! their prompts.
//!
//! ```
//! use metatok::Row;
//! use metatok::dataset::Value;
//!
//! let row = Row::from_json(r#"{"question": "Which are red?", "options": ["Mars", null], "points": 1.0}"#)?;
//! assert_eq!(row.names().collect::<Vec<_>>(), ["question", "options", "points"]);
//! assert_eq!(row.get("options").map(Value::repr).as_deref(), Some("['Mars', None]"));
//! # Ok::<(), metatok::Error>(())
//! ```

mod arrow;
mod derived_columns;
mod entries;
mod kept_columns;
mod python_repr;
mod repeats;
mod row;
mod split;
mod value;
mod value_json;
mod value_path;

pub(crate) use arrow::ADDED;
pub use arrow::arrow_rows;
pub use derived_columns::DerivedColumns;
pub(crate) use entries::Entries;
pub use kept_columns::{KeptColumns, RowKey};
pub use repeats::{PickedRow, Picks, Repeats};
pub use row::Row;
pub(crate) use row::{Field, Fields, listed};
pub use split::SplitRange;
pub use value::Value;
pub(crate) use value_path::{Path, whole_number};
