//! Conversations from files: lines, and what a line holds.

mod lines;
mod record;

pub(crate) use lines::{Line, Lines};
pub use record::Record;
