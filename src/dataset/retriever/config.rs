//! Retrievers under the names and keys of a dataset's configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dataset::retriever::bm25::Bm25;
use crate::dataset::retriever::context_sampler::ContextSampler;
use crate::dataset::retriever::random::Random;
use crate::dataset::retriever::sliding_window::SlidingWindow;
use crate::dataset::retriever::top_k::TopK;
use crate::dataset::retriever::{Examples, MOST_EXAMPLES, Retriever, no_such_example, too_many};
use crate::dataset::rows::Row;
use crate::error::{At, ErrorKind, Result, Setting, way_out};

/// A retriever as a dataset's configuration names it.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrieverConfig {
    /// Which one.
    pub kind: RetrieverKind,
    /// What separates examples that are strings.
    pub ice_separator: Option<String>,
    /// What follows them.
    pub ice_eos_token: Option<String>,
}

/// Which examples are chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RetrieverKind {
    /// None.
    Zero,
    /// The same examples for every row.
    Fixed {
        /// Their numbers.
        fix_id_list: Vec<i64>,
    },
    /// The first, the same for every row.
    First {
        /// How many.
        ice_num: usize,
    },
    /// The first that are not the row itself: lm-evaluation-harness's way.
    FirstOthers {
        /// How many.
        ice_num: usize,
    },
    /// Drawn again for each row; a seed draws the same examples as numpy.
    Random {
        /// How many.
        ice_num: usize,
        /// numpy's seed.
        seed: u32,
    },
    /// Drawn again for each row; a seed draws the same examples as Python's `random.sample`: lm-evaluation-harness's
    /// way.
    Sampled {
        /// How many.
        ice_num: usize,
        /// Python's seed.
        seed: u32,
        /// Whether one more is drawn, so that the row itself can be left out.
        leave_out_row: bool,
    },
    /// Those whose words are most similar to the row's, in the input columns.
    Bm25 {
        /// How many.
        ice_num: usize,
    },
    /// Those that a file lists for each row: the nearest ones, found by another program.
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

impl Default for RetrieverConfig {
    fn default() -> Self {
        Self { kind: RetrieverKind::Zero, ice_separator: None, ice_eos_token: None }
    }
}

impl RetrieverConfig {
    /// The retriever for a training set. `input_columns` are the columns for comparing rows.
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
            RetrieverKind::First { ice_num } | RetrieverKind::FirstOthers { ice_num } if *ice_num > train => {
                return Err(no_such_example(train as i64, train)).at("ice_num");
            }
            RetrieverKind::First { ice_num } => Box::new(Always(Examples::Ids((0..*ice_num as i64).collect()))),
            RetrieverKind::FirstOthers { ice_num } => {
                Box::new(Always(Examples::Others { ids: (0..train as i64).collect(), count: *ice_num }))
            }
            RetrieverKind::Random { ice_num, seed } => Box::new(Random::new(*seed, train, *ice_num)?),
            RetrieverKind::Sampled { ice_num, seed, leave_out_row } => {
                Box::new(ContextSampler::new(*seed, train, *ice_num, *leave_out_row)?)
            }
            RetrieverKind::Bm25 { .. } if input_columns.is_empty() => {
                return Err(
                    ErrorKind::Dataset("reader_cfg.input_columns must name the columns to compare".into()).into()
                );
            }
            RetrieverKind::Bm25 { ice_num } => {
                let index = Bm25::new(rows, input_columns, *ice_num);
                Box::new(Always(Examples::ByRow(Arc::new(move |row| index.nearest(row)))))
            }
            RetrieverKind::TopK { neighbours: None, .. } => {
                let what = "this retriever chooses examples with another model, for example by their embeddings";
                return Err(ErrorKind::Dataset(what.into()).with_way_out(way_out![
                    "supply its choices with ",
                    Setting::NEIGHBOURS.set_to("FILE"),
                    " (or the key neighbours): a list of row numbers such as [3, 17, 4] for each row, the nearest first"
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
            RetrieverKind::First { ice_num }
            | RetrieverKind::FirstOthers { ice_num }
            | RetrieverKind::Random { ice_num, .. }
            | RetrieverKind::Sampled { ice_num, .. }
            | RetrieverKind::Bm25 { ice_num }
            | RetrieverKind::TopK { ice_num, .. } => *ice_num,
            RetrieverKind::SlidingWindow { k } => *k,
        }
    }

    /// Chooses this many instead. A list of examples is shortened; one that counts 0, 1, 2, … is extended.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] if no examples are chosen, or if more are wanted than another list has.
    pub fn set_count(&mut self, count: usize) -> Result<()> {
        match &mut self.kind {
            RetrieverKind::Zero if count > 0 => {
                let what = format!(
                    "{count} examples are wanted, but the dataset has none; add a retriever, such as FixKRetriever, and an ice_template"
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
                    format!("{count} examples are wanted, but fix_id_list has only {}; list more", fix_id_list.len());
                return Err(ErrorKind::Dataset(what).into());
            }
            RetrieverKind::First { ice_num }
            | RetrieverKind::FirstOthers { ice_num }
            | RetrieverKind::Random { ice_num, .. }
            | RetrieverKind::Sampled { ice_num, .. }
            | RetrieverKind::Bm25 { ice_num }
            | RetrieverKind::TopK { ice_num, .. }
            | RetrieverKind::SlidingWindow { k: ice_num } => *ice_num = count,
        }
        Ok(())
    }

    /// Uses the neighbours that another file lists.
    ///
    /// # Errors
    /// [`ErrorKind::Dataset`] if examples are not chosen by neighbours.
    pub fn set_neighbours(&mut self, file: &Path) -> Result<()> {
        match &mut self.kind {
            RetrieverKind::TopK { neighbours, .. } => *neighbours = Some(file.to_owned()),
            _ => {
                return Err(ErrorKind::Dataset(
                    "only retrievers that choose with another model, such as TopkRetriever, read neighbours; remove it"
                        .into(),
                )
                .into());
            }
        }
        Ok(())
    }

    /// The file that lists neighbours, if there is one.
    pub fn neighbours(&self) -> Option<&Path> {
        match &self.kind {
            RetrieverKind::TopK { neighbours, .. } => neighbours.as_deref(),
            _ => None,
        }
    }

    /// What separates examples, and what follows them.
    pub(crate) fn separators(&self) -> (&str, &str) {
        let default = match self.kind {
            RetrieverKind::Zero => "",
            _ => "\n",
        };
        (self.ice_separator.as_deref().unwrap_or(default), self.ice_eos_token.as_deref().unwrap_or(default))
    }
}

/// The same examples for every row.
struct Always(Examples);

impl Retriever for Always {
    fn retrieve(&mut self, _: usize) -> Result<Examples> {
        Ok(self.0.clone())
    }
}
