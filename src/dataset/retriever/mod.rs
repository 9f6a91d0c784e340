//! Choosing in-context examples: which rows of the training set go before a row.
//!
//! A retriever is a file here and an arm in [`RetrieverConfig::open`].

mod random;
mod sliding_window;
mod top_k;

use serde::{Deserialize, Serialize};

use crate::error::{At, Error, ErrorKind, Result};
use random::Random;
use sliding_window::SlidingWindow;
use top_k::TopK;

/// Gives the examples' numbers for one row after the other. A negative number counts from the end.
pub trait Retriever: Send {
    /// The examples of row number `index` of the test set.
    ///
    /// # Errors
    /// What is particular to the retriever.
    fn retrieve(&mut self, index: usize) -> Result<Vec<i64>>;
}

/// A retriever as a dataset's configuration names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetrieverConfig {
    /// Which one.
    #[serde(flatten)]
    pub kind: RetrieverKind,
    /// What stands between examples that are strings.
    pub ice_separator: Option<String>,
    /// What stands behind them.
    pub ice_eos_token: Option<String>,
}

/// Which examples are chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum RetrieverKind {
    /// None.
    #[serde(rename = "ZeroRetriever", alias = "zero")]
    Zero,
    /// The same for every row.
    #[serde(rename = "FixKRetriever", alias = "fixed")]
    Fixed {
        /// Their numbers.
        fix_id_list: Vec<i64>,
    },
    /// Drawn anew for each row, the same for the same seed as numpy draws.
    #[serde(rename = "RandomRetriever", alias = "random")]
    Random {
        /// How many.
        #[serde(default = "one")]
        ice_num: usize,
        /// numpy's seed.
        #[serde(default = "default_seed")]
        seed: u32,
    },
    /// Those that a file lists for each row: what another program found nearest.
    #[serde(rename = "TopkRetriever", alias = "top-k")]
    TopK {
        /// How many of them.
        #[serde(default = "one")]
        ice_num: usize,
        /// The file: a list of numbers for each row, as JSON lines.
        neighbours: std::path::PathBuf,
    },
    /// The rows before this one.
    #[serde(rename = "SlidingWindowRetriever", alias = "sliding-window")]
    SlidingWindow {
        /// How many.
        k: usize,
    },
}

fn one() -> usize {
    1
}

/// OpenCompass's own.
fn default_seed() -> u32 {
    43
}

impl Default for RetrieverConfig {
    fn default() -> Self {
        Self { kind: RetrieverKind::Zero, ice_separator: None, ice_eos_token: None }
    }
}

impl RetrieverConfig {
    /// The retriever for a training set of `train` rows.
    ///
    /// # Errors
    /// [`ErrorKind::Template`] names examples that do not exist.
    pub fn open(&self, train: usize) -> Result<Box<dyn Retriever>> {
        Ok(match &self.kind {
            RetrieverKind::Zero => Box::new(Fixed(Vec::new())),
            RetrieverKind::Fixed { fix_id_list } => {
                let exists =
                    |&id: &i64| usize::try_from(id).map_or(id.unsigned_abs() as usize <= train, |id| id < train);
                if let Some(id) = fix_id_list.iter().find(|id| !exists(id)) {
                    return Err(no_such_example(*id, train)).at("fix_id_list");
                }
                Box::new(Fixed(fix_id_list.clone()))
            }
            RetrieverKind::Random { ice_num, seed } => Box::new(Random::new(*seed, train, *ice_num)?),
            RetrieverKind::TopK { ice_num, neighbours } => Box::new(TopK::open(neighbours, *ice_num)?),
            RetrieverKind::SlidingWindow { k } => Box::new(SlidingWindow { k: *k, train }),
        })
    }

    /// What stands between examples, and behind them.
    pub(crate) fn separators(&self) -> (&str, &str) {
        let default = match self.kind {
            RetrieverKind::Zero => "",
            _ => "\n",
        };
        (self.ice_separator.as_deref().unwrap_or(default), self.ice_eos_token.as_deref().unwrap_or(default))
    }
}

/// The same examples for every row, or none.
struct Fixed(Vec<i64>);

impl Retriever for Fixed {
    fn retrieve(&mut self, _: usize) -> Result<Vec<i64>> {
        Ok(self.0.clone())
    }
}

pub(crate) fn no_such_example(id: i64, train: usize) -> Error {
    ErrorKind::Template(format!("there is no example {id}; the training set has {train} rows")).into()
}
