//! Choosing in-context examples: which rows of the training set are put before a row.
//!
//! ```
//! use metatok::Row;
//! use metatok::dataset::retriever::{RetrieverConfig, RetrieverKind};
//!
//! let row = |question: &str| Row::new(vec![("question".into(), question.into())]);
//! let train = ["1+1=?", "2+2=?", "3+3=?"].map(row);
//! let kind = RetrieverKind::Fixed { fix_id_list: vec![2, 0] };
//! let mut retriever = RetrieverConfig { kind, ..RetrieverConfig::default() }.open(&train, &[])?;
//! assert_eq!(retriever.retrieve(0)?.of(&row("4+4=?"), &train)?, [2, 0]);
//! # Ok::<(), metatok::Error>(())
//! ```
//!
//! [`DatasetPrompter`](crate::dataset::DatasetPrompter) accepts your own retriever.
//!
//! A retriever is a file in this folder, and a variant of [`RetrieverKind`] with its arms in `config.rs`.

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
