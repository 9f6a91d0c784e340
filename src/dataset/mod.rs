//! Datasets: lines of conversations, and rows that templates make conversations of.

mod any_template;
mod arrow;
mod builtin;
mod chat;
mod columns;
mod config;
mod content_tags;
mod derived_columns;
mod dialogue;
mod fewest_dropped;
mod fields;
mod fill;
mod function_calls;
mod inferencer;
mod input_format;
mod items;
mod judge;
mod kept_columns;
mod keys;
mod lines;
mod max_out_len;
mod message_template;
mod multimodal_template;
mod nesting;
mod prompt_list;
mod prompt_template;
mod python_random;
mod python_text;
mod qa_template;
mod record;
mod records;
mod repeats;
mod retriever;
mod row;
mod sampling_params;
mod scan;
mod scored;
mod source;
mod split;
mod task;
mod turn_plan;
mod turn_template;
mod value;
mod value_path;
mod word_counts;

use crate::error::{Error, ErrorKind};
pub use any_template::AnyTemplate;
pub use arrow::arrow_rows;
pub use config::{Dataset, DatasetSource};
pub use content_tags::{Fragment, FragmentKind};
pub use derived_columns::DerivedColumns;
pub(crate) use fewest_dropped::fewest_dropped;
pub use fields::{MissingColumns, TemplateField};
pub use fill::Substitution;
pub use inferencer::{Inferencer, InferencerKind, RowPrompt, RowPrompter};
pub use input_format::InputFormat;
pub use judge::{Judge, Prediction, PredictionColumns};
pub use kept_columns::{KeptColumns, RowKey};
pub(crate) use lines::Line;
pub use max_out_len::MaxOutLen;
pub use message_template::MessageTemplate;
pub use multimodal_template::MultimodalTemplate;
pub(crate) use nesting::check_nesting;
pub use prompt_template::PromptTemplate;
pub(crate) use python_text::is_space;
pub use qa_template::{Layout, QaTemplate};
pub use record::{Record, RecordReader};
pub(crate) use records::{Holds, Records};
pub use repeats::{PickedRow, Repeats};
pub use retriever::{Examples, FindExamples, Retriever, RetrieverConfig, RetrieverKind};
pub use row::Row;
pub use sampling_params::SamplingParams;
pub use scored::ScoredText;
pub(crate) use source::{decompressed, is_compressed, json_lines, rows_of};
pub use split::SplitRange;
pub use task::{Asked, FewShotPrompter, Task};
pub use turn_plan::{InferMode, TurnPlan};
pub use turn_template::TurnTemplate;
pub use value::Value;

/// What is wrong with a template, or with a row for it.
fn template_error(what: &str) -> Error {
    ErrorKind::Dataset(what.to_owned()).into()
}

fn row_error(what: &str) -> Error {
    ErrorKind::Row(what.to_owned()).into()
}
