//! Choosing in-context examples: which rows of the training set go before a row.
//!
//! A retriever is a file here and an arm in [`RetrieverConfig::open`].

mod bm25;
mod context_sampler;
mod random;
mod sliding_window;
mod top_k;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dataset::row::Row;
use crate::error::{At, Error, ErrorKind, Result, Setting, counted, way_out};
use bm25::Bm25;
use context_sampler::ContextSampler;
use random::Random;
use sliding_window::SlidingWindow;
use top_k::TopK;

/// Gives the examples for one row after the other.
pub trait Retriever: Send {
    /// The examples of row number `index` of the test set.
    ///
    /// # Errors
    /// What is particular to the retriever.
    fn retrieve(&mut self, index: usize) -> Result<Examples>;
}

/// The examples of a row.
#[derive(Clone)]
pub enum Examples {
    /// Those with these numbers. A negative one counts from the end.
    Ids(Vec<i64>),
    /// The first of those with these numbers that are not the row itself.
    Others {
        /// Their numbers, more than are wanted.
        ids: Vec<i64>,
        /// How many are wanted.
        count: usize,
    },
    /// Those that this finds for the row itself, which takes time and so is left to whoever has the row.
    ByRow(Arc<FindExamples>),
}

impl fmt::Debug for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ids(ids) => f.debug_tuple("Ids").field(ids).finish(),
            Self::Others { ids, count } => f.debug_struct("Others").field("ids", ids).field("count", count).finish(),
            Self::ByRow(_) => f.write_str("ByRow(..)"),
        }
    }
}

/// Finds the examples of a row by what it says.
pub type FindExamples = dyn Fn(&Row) -> Vec<i64> + Send + Sync;

impl Examples {
    /// The examples' numbers, in the training set, for the row that they were retrieved for.
    ///
    /// # Errors
    /// [`ErrorKind::Row`] where the row stands among them so often that too few others are left.
    pub fn of(self, row: &Row, train: &[Row]) -> Result<Vec<i64>> {
        match self {
            Self::Ids(ids) => Ok(ids),
            Self::Others { ids, count } => others(ids, count, row, train),
            Self::ByRow(find) => Ok(find(row)),
        }
    }
}

/// The first `count` of the examples that are not the row itself.
fn others(mut ids: Vec<i64>, count: usize, row: &Row, train: &[Row]) -> Result<Vec<i64>> {
    ids.retain(|&id| !usize::try_from(id).is_ok_and(|id| train.get(id).is_some_and(|example| example.equals(row))));
    if ids.len() < count {
        let what = format!(
            "the training set has this row more than once, and of the examples that were drawn {} are left, not {count}; let each row stand there once",
            ids.len()
        );
        return Err(ErrorKind::Dataset(what).into());
    }
    ids.truncate(count);
    Ok(ids)
}

impl Default for Examples {
    fn default() -> Self {
        Self::Ids(Vec::new())
    }
}

impl From<Vec<i64>> for Examples {
    fn from(ids: Vec<i64>) -> Self {
        Self::Ids(ids)
    }
}

/// A retriever as a dataset's configuration names it.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrieverConfig {
    /// Which one.
    pub kind: RetrieverKind,
    /// What stands between examples that are strings.
    pub ice_separator: Option<String>,
    /// What stands behind them.
    pub ice_eos_token: Option<String>,
}

/// Which examples are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum RetrieverKind {
    /// None.
    Zero,
    /// The same for every row.
    Fixed {
        /// Their numbers.
        fix_id_list: Vec<i64>,
    },
    /// Drawn anew for each row, the same for the same seed as numpy draws.
    Random {
        /// How many.
        ice_num: usize,
        /// numpy's seed.
        seed: u32,
    },
    /// Drawn anew for each row, the same for the same seed as Python's `random.sample` draws: lm-evaluation-harness's way.
    Sampled {
        /// How many.
        ice_num: usize,
        /// Python's seed.
        seed: u32,
        /// Whether one more is drawn, so that the row itself can be left out.
        leave_out_row: bool,
    },
    /// Those whose words are most like the row's, by the input columns.
    Bm25 {
        /// How many.
        ice_num: usize,
    },
    /// Those that a file lists for each row: what another program found nearest.
    TopK {
        /// How many of them.
        ice_num: usize,
        /// The file: a list of numbers for each row, as JSON lines.
        neighbours: Option<PathBuf>,
    },
    /// The rows before this one.
    SlidingWindow {
        /// How many.
        k: usize,
    },
}

/// No context holds more examples.
pub(crate) const MOST_EXAMPLES: usize = 1 << 20;

impl Default for RetrieverConfig {
    fn default() -> Self {
        Self { kind: RetrieverKind::Zero, ice_separator: None, ice_eos_token: None }
    }
}

impl RetrieverConfig {
    /// The retriever for a training set, of which `input_columns` are compared where rows are.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] names examples that do not exist.
    pub fn open(&self, rows: &[Row], input_columns: &[String]) -> Result<Box<dyn Retriever>> {
        let train = rows.len();
        Ok(match &self.kind {
            RetrieverKind::Zero => Box::new(Always(Examples::default())),
            RetrieverKind::Fixed { fix_id_list } => {
                let exists =
                    |&id: &i64| usize::try_from(id).map_or(id.unsigned_abs() as usize <= train, |id| id < train);
                if let Some(id) = fix_id_list.iter().find(|id| !exists(id)) {
                    return Err(no_such_example(*id, train)).at("fix_id_list");
                }
                let ids = fix_id_list.clone();
                Box::new(Always(Examples::ByRow(Arc::new(move |_| ids.clone()))))
            }
            RetrieverKind::Random { ice_num, seed } => Box::new(Random::new(*seed, train, *ice_num)?),
            RetrieverKind::Sampled { ice_num, seed, leave_out_row } => {
                Box::new(ContextSampler::new(*seed, train, *ice_num, *leave_out_row)?)
            }
            RetrieverKind::Bm25 { .. } if input_columns.is_empty() => {
                return Err(
                    ErrorKind::Dataset("reader_cfg.input_columns says which columns are compared".into()).into()
                );
            }
            RetrieverKind::Bm25 { ice_num } => {
                let index = Bm25::new(rows, input_columns, *ice_num);
                Box::new(Always(Examples::ByRow(Arc::new(move |row| index.nearest(row)))))
            }
            RetrieverKind::TopK { neighbours: None, .. } => {
                let what = "this retriever chooses examples by another model, such as by their embeddings";
                return Err(ErrorKind::Dataset(what.into()).with_way_out(way_out![
                    "give what it chooses with ",
                    Setting::NEIGHBOURS.set_to("FILE"),
                    " (or the key neighbours), a list of row numbers such as [3, 17, 4] for each row, the nearest first"
                ]));
            }
            RetrieverKind::TopK { ice_num, neighbours: Some(neighbours) } => {
                Box::new(TopK::open(neighbours, *ice_num)?)
            }
            RetrieverKind::SlidingWindow { k } if *k > MOST_EXAMPLES => {
                return Err(too_many("k", *k).into());
            }
            RetrieverKind::SlidingWindow { k } => Box::new(SlidingWindow { k: *k, train }),
        })
    }

    /// How many examples a row has.
    pub fn count(&self) -> usize {
        match &self.kind {
            RetrieverKind::Zero => 0,
            RetrieverKind::Fixed { fix_id_list } => fix_id_list.len(),
            RetrieverKind::Random { ice_num, .. }
            | RetrieverKind::Sampled { ice_num, .. }
            | RetrieverKind::Bm25 { ice_num }
            | RetrieverKind::TopK { ice_num, .. } => *ice_num,
            RetrieverKind::SlidingWindow { k } => *k,
        }
    }

    /// Chooses so many instead. Of a list of examples the first stay; one that counts 0, 1, 2, … goes on.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] where none are chosen, and for more than are listed otherwise.
    pub fn set_count(&mut self, count: usize) -> Result<()> {
        match &mut self.kind {
            RetrieverKind::Zero if count > 0 => {
                let what = format!(
                    "{count} examples are wanted, and the dataset has none; write a retriever, such as FixKRetriever, and an ice_template"
                );
                return Err(ErrorKind::Dataset(what).into());
            }
            kind if count == 0 => *kind = RetrieverKind::Zero,
            RetrieverKind::Zero => {}
            RetrieverKind::Fixed { fix_id_list } if count <= fix_id_list.len() => fix_id_list.truncate(count),
            RetrieverKind::Fixed { fix_id_list }
                if count <= MOST_EXAMPLES && fix_id_list.iter().copied().eq(0..fix_id_list.len() as i64) =>
            {
                *fix_id_list = (0..count as i64).collect();
            }
            RetrieverKind::Fixed { fix_id_list } => {
                let what =
                    format!("{count} examples are wanted, and fix_id_list names {}; list more", fix_id_list.len());
                return Err(ErrorKind::Dataset(what).into());
            }
            RetrieverKind::Random { ice_num, .. }
            | RetrieverKind::Sampled { ice_num, .. }
            | RetrieverKind::Bm25 { ice_num }
            | RetrieverKind::TopK { ice_num, .. }
            | RetrieverKind::SlidingWindow { k: ice_num } => *ice_num = count,
        }
        Ok(())
    }

    /// Takes the neighbours that another file lists.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] where examples are not chosen by neighbours.
    pub fn set_neighbours(&mut self, file: &Path) -> Result<()> {
        match &mut self.kind {
            RetrieverKind::TopK { neighbours, .. } => *neighbours = Some(file.to_owned()),
            _ => {
                return Err(ErrorKind::Dataset(
                    "only retrievers that choose by another model, as TopkRetriever, read neighbours; leave it out"
                        .into(),
                )
                .into());
            }
        }
        Ok(())
    }

    /// The file that lists neighbours, where there is one.
    pub fn neighbours(&self) -> Option<&Path> {
        match &self.kind {
            RetrieverKind::TopK { neighbours, .. } => neighbours.as_deref(),
            _ => None,
        }
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

/// The same for every row.
struct Always(Examples);

impl Retriever for Always {
    fn retrieve(&mut self, _: usize) -> Result<Examples> {
        Ok(self.0.clone())
    }
}

/// What to say of more examples than anybody wants.
pub(crate) fn too_many(key: &str, count: usize) -> ErrorKind {
    ErrorKind::Dataset(format!("{key} is {count}, and no context holds more than {MOST_EXAMPLES} examples"))
}

pub(crate) fn no_such_example(id: i64, train: usize) -> Error {
    ErrorKind::Dataset(format!("there is no example {id}; the training set has {}", counted(train, "row"))).into()
}
