//! Judges: models that are asked what other models' answers are worth.

mod evaluator;
mod prediction_columns;
mod word_counts;

pub(crate) use prediction_columns::{Evaluator, REFERENCE};
pub use prediction_columns::{Judge, Prediction, PredictionColumns};
pub(crate) use word_counts::{chinese_characters, english_words};
