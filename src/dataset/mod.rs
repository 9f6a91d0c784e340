//! Datasets: templates, in-context examples and labels turn rows into prompts, as in OpenCompass's dataset dicts.
//!
//! ```
//! use metatok::dataset::DatasetPrompter;
//! use metatok::{Dataset, PromptBuilder, Row};
//!
//! let dataset = Dataset::parse("capitals.toml", br#"
//!     [reader_cfg]
//!     input_columns = ["country"]
//!     output_column = "capital"
//!     [infer_cfg]
//!     ice_template = { template = "{country}: {capital}" }
//!     prompt_template = { template = "Capitals.\n</E>{country}: {capital}", ice_token = "</E>" }
//!     retriever = { type = "FixKRetriever", fix_id_list = [0] }
//! "#)?;
//! let train = [Row::from_json(r#"{"country": "Italy", "capital": "Rome"}"#)?];
//! let mut prompter = DatasetPrompter::new(&dataset, train)?;
//!
//! let builder = PromptBuilder::demo()?;
//! for country in ["France", "Peru"] {
//!     let row = dataset.row(&format!(r#"{{"country": "{country}"}}"#))?;
//!     for prompt in prompter.prompts(&row, |_| Ok(0))? {
//!         let ids = builder.build(&prompt.conversation)?.input_ids;
//!         assert_eq!(builder.tokenizer().decode(&ids, true)?, format!("Capitals.\nItaly: Rome\n{country}: "));
//!     }
//! }
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! Lines of conversations need no templates; [`records`] reads them.

mod source;
mod python;
mod dataset_error;
pub mod rows;
pub mod template;
pub mod retriever;
pub mod prompter;
mod config;
pub mod judge;
pub mod records;

pub use config::{Dataset, DatasetSource};
pub(crate) use dataset_error::{dataset_error, row_error};
pub(crate) use judge::{Judge, Prediction, PredictionColumns};
pub use prompter::{DatasetPrompter, Inferencer, InferencerKind, RowPrompt, RowPrompter, Task};
pub(crate) use prompter::{InferMode, MaxOutLen, SamplingParams, ScoredText, TurnPlan};
pub(crate) use records::{InputFormat, ReadsFor, Record, RecordReader};
pub(crate) use retriever::{Examples, Retriever};
pub(crate) use rows::{KeptColumns, PickedRow, RowKey, arrow_rows};
pub use rows::{Row, Value};
#[cfg(feature = "http")]
pub(crate) use source::Scan;
pub(crate) use source::{
    BadRow, FileRecord, Line, RecordSource, Records, check_nesting, decompressed, is_compressed, is_of_no_json, open,
    table_of,
};
pub use source::{CsvOptions, Holds, Quotes, RawRecord};
pub(crate) use template::{Layout, MissingColumns, TemplateField};
