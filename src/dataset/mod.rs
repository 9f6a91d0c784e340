//! Datasets: lines of conversations, and rows that templates make conversations of.

mod source;
mod python;
mod template_error;
mod rows;
mod template;
mod retriever;
mod config;
mod judge;
mod prompter;
mod records;

pub use config::{Dataset, DatasetSource};
pub use judge::{Judge, Prediction, PredictionColumns};
pub(crate) use prompter::fewest_dropped;
pub use prompter::{Asked, FewShotPrompter, Task};
pub use prompter::{
    InferMode, Inferencer, InferencerKind, MaxOutLen, RowPrompt, RowPrompter, SamplingParams, ScoredText, TurnPlan,
};
pub(crate) use python::is_space;
pub use records::{InputFormat, Record, RecordReader};
pub use retriever::{Examples, FindExamples, Retriever, RetrieverConfig, RetrieverKind};
pub use rows::{DerivedColumns, KeptColumns, PickedRow, Repeats, Row, RowKey, SplitRange, Value, arrow_rows};
pub use source::Holds;
pub(crate) use source::{Line, Records, check_nesting, decompressed, is_compressed, json_lines, rows_of};
pub use template::{
    AnyTemplate, Fragment, FragmentKind, Layout, MessageTemplate, MissingColumns, MultimodalTemplate, PromptTemplate,
    QaTemplate, Substitution, TemplateField, TurnTemplate,
};
pub(crate) use template_error::{row_error, template_error};
