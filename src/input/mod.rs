//! Inputs: files, standard input or memory, read record by record, or in batches that all cores share.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use metatok::input::{Input, each_line};
//!
//! let inputs = vec![Input::new("memory", &b"1\n\n2\n"[..])];
//! let mut lines = Vec::new();
//! each_line(inputs, 1 << 20, |place, line| {
//!     lines.push(format!("{place}: {}", line?));
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(lines, ["memory: line 1: 1", "memory: line 3: 2"]);
//! # Ok::<(), metatok::Error>(())
//! ```

mod batches;
mod by_dataset;
mod digest;
mod each;
mod id;
mod output_files;
mod record_place;
mod rejected;
mod source;

pub(crate) use crate::dataset::is_of_no_json;
pub use crate::dataset::{CsvOptions, Holds, Quotes, RawRecord};
pub(crate) use batches::{BatchLine, Batches, LineBatch, batches, objects};
pub use by_dataset::by_dataset;
pub use digest::{check_readable_again, digest_of_file, digest_of_input};
pub use each::{each_conversation, each_line, each_object, each_record, from_json};
pub(crate) use id::without_escapes;
pub use output_files::OutputFiles;
pub use record_place::RecordPlace;
pub use rejected::Rejected;
pub use source::{Input, local};

/// The default limit on the length of a line, in bytes: 64 MiB.
pub const DEFAULT_MAX_LINE_BYTES: usize = 64 << 20;
