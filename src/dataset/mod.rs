//! Datasets: lines of conversations, and rows that templates make conversations of.

mod arrow;
mod config;
mod fields;
mod fill;
mod lines;
mod message_template;
mod prompt_list;
mod prompt_template;
mod record;
mod retriever;
mod row;
mod split;
mod task;
mod value;

pub use arrow::arrow_rows;
pub use config::{Dataset, Inferencer, InferencerKind};
pub use fields::TemplateField;
pub use fill::Substitution;
pub(crate) use lines::{Line, Lines};
pub use message_template::MessageTemplate;
pub use prompt_template::PromptTemplate;
pub use record::Record;
pub use retriever::{Retriever, RetrieverConfig, RetrieverKind};
pub use row::Row;
pub use split::SplitRange;
pub use task::{AnyTemplate, Shots, Task};
pub use value::Value;
