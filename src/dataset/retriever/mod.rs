//! Choosing in-context examples: which rows of the training set go before a row.
//!
//! A retriever is a file here and an arm in [`RetrieverConfig::open`].

mod bm25;
mod config;
mod context_sampler;
mod examples;
mod random;
mod sliding_window;
mod top_k;

pub use config::{RetrieverConfig, RetrieverKind};
pub use examples::{Examples, FindExamples, Retriever};
pub(crate) use examples::{MOST_EXAMPLES, no_such_example, too_many};
