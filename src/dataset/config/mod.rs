//! Datasets as files: OpenCompass's dataset dicts as TOML or JSON, one or several, and the built-in ones.

mod builtin;
pub(in crate::dataset) mod class_name;
pub(in crate::dataset) mod dataset;
mod doubts;
mod file;
mod inferencer;
mod needed_fields;
mod retriever;
mod rows;
mod several;

pub use dataset::Dataset;
pub use several::DatasetSource;
