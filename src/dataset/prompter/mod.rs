//! From rows to prompts: a task combines templates and examples, and an inferencer decides which prompts a row has.
//!
//! ```
//! use metatok::dataset::RowPrompter;
//! use metatok::{Dataset, Row};
//!
//! let dataset = Dataset::parse("d.toml", br#"infer_cfg = { prompt_template = { template = "{q} is" } }"#)?;
//! let row = Row::from_json(r#"{"q": "1+1"}"#)?;
//! let prompts = RowPrompter::new(dataset, [])?.prompts(&row, Vec::new(), |_| Ok(0))?;
//! assert_eq!(prompts[0].conversation, metatok::Conversation::Text("1+1 is".into()));
//! # Ok::<(), metatok::Error>(())
//! ```

mod chat;
mod dataset_prompter;
mod function_calls;
mod inferencer;
mod max_out_len;
mod row_prompt;
mod row_prompter;
mod sampling_params;
mod scored;
mod shots;
mod task;
mod turn_plan;

pub use dataset_prompter::DatasetPrompter;
pub(crate) use function_calls::first_prompt;
pub use inferencer::{Inferencer, InferencerKind};
pub use max_out_len::MaxOutLen;
pub use row_prompt::RowPrompt;
pub use row_prompter::RowPrompter;
pub use sampling_params::SamplingParams;
pub use scored::ScoredText;
pub use task::Task;
pub use turn_plan::{InferMode, TurnPlan};
