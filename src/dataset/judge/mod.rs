//! Judges: models that rate other models' answers.
//!
//! ```
//! use metatok::Dataset;
//!
//! let judge = Dataset::parse("d.json", br#"{"infer_cfg": {}, "eval_cfg": {"evaluator": {
//!     "type": "GenericLLMEvaluator", "prompt_template": {"template": "Is {prediction} right?"}}}}"#)?.judge()?;
//! assert_eq!(judge.dataset.needed_fields()[0].column, "prediction");
//! # Ok::<(), metatok::Error>(())
//! ```

mod evaluator;
mod prediction_columns;
mod word_counts;

pub(crate) use prediction_columns::{Evaluator, REFERENCE};
pub use prediction_columns::{Judge, Prediction, PredictionColumns};
pub(crate) use word_counts::{chinese_characters, english_words};
