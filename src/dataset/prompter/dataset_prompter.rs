//! The prompts of one row after the other, with the examples that a retriever chooses.

use std::fmt;
use std::sync::Arc;

use crate::conversation::Conversation;
use crate::dataset::config::Dataset;
use crate::dataset::prompter::{RowPrompt, RowPrompter};
use crate::dataset::retriever::Retriever;
use crate::dataset::rows::Row;
use crate::error::{At, Place, Result};

/// Builds the prompts of a dataset's rows in their order, with in-context examples. The retriever is the dataset's, or
/// your own:
///
/// ```
/// use metatok::dataset::DatasetPrompter;
/// use metatok::dataset::retriever::{Examples, Retriever};
/// use metatok::{Conversation, Dataset, Result, Row};
///
/// /// Row by row, the examples that another program has found.
/// struct Found(Vec<Vec<i64>>);
///
/// impl Retriever for Found {
///     fn retrieve(&mut self, index: usize) -> Result<Examples> {
///         Ok(self.0[index].clone().into())
///     }
/// }
///
/// let dataset = Dataset::parse("sums.toml", br#"
///     reader_cfg = { output_column = "a" }
///     [infer_cfg]
///     ice_template = { template = "{q}={a} " }
///     prompt_template = { template = "</E>{q}=", ice_token = "</E>" }
/// "#)?;
/// let row = |q: &str, a: &str| Row::new(vec![("q".into(), q.into()), ("a".into(), a.into())]);
/// let train = [row("1+1", "2"), row("2+2", "4"), row("3+3", "6")];
/// let retriever = Found(vec![vec![2], vec![0, 1]]);
/// let mut prompter = DatasetPrompter::with_retriever(dataset, train, Box::new(retriever))?;
///
/// let prompts = prompter.prompts(&row("4+4", ""), |_| Ok(0))?;
/// assert_eq!(prompts[0].conversation, Conversation::Text("3+3=6 4+4=".into()));
/// let prompts = prompter.prompts(&row("5+5", ""), |_| Ok(0))?;
/// assert_eq!(prompts[0].conversation, Conversation::Text("1+1=2 2+2=4 5+5=".into()));
/// # Ok::<(), metatok::Error>(())
/// ```
pub struct DatasetPrompter {
    prompter: RowPrompter,
    retriever: Box<dyn Retriever>,
    /// The number of the next row.
    next: usize,
}

impl fmt::Debug for DatasetPrompter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prompter, next, .. } = self;
        f.debug_struct("DatasetPrompter").field("prompter", prompter).field("next", next).finish_non_exhaustive()
    }
}

impl DatasetPrompter {
    /// With the retriever of the dataset, which chooses from `train`.
    ///
    /// # Errors
    /// The same as for [`RowPrompter::new`] and
    /// [`RetrieverConfig::open`](crate::dataset::retriever::RetrieverConfig::open).
    pub fn new(dataset: impl Into<Arc<Dataset>>, train: impl Into<Arc<[Row]>>) -> Result<Self> {
        let (dataset, train) = (dataset.into(), train.into());
        let retriever = dataset.task.retriever.open(&train, &dataset.task.input_columns);
        let retriever = retriever.at("infer_cfg.retriever").at(Place::file(&dataset.name))?;
        Self::with_retriever(dataset, train, retriever)
    }

    /// With your own retriever, whose numbers refer to `train`. The dataset's separators are put between the examples.
    ///
    /// # Errors
    /// The same as for [`RowPrompter::new`].
    pub fn with_retriever(
        dataset: impl Into<Arc<Dataset>>,
        train: impl Into<Arc<[Row]>>,
        retriever: Box<dyn Retriever>,
    ) -> Result<Self> {
        Ok(Self { prompter: RowPrompter::new(dataset, train)?, retriever, next: 0 })
    }

    /// The prompts of the next row, see [`RowPrompter::prompts`].
    ///
    /// # Errors
    /// The same as [`RowPrompter::prompts`], and the retriever's errors.
    pub fn prompts(&mut self, row: &Row, excess: impl FnMut(&Conversation) -> Result<usize>) -> Result<Vec<RowPrompt>> {
        let index = self.next;
        self.next += 1;
        let ids = self.retriever.retrieve(index)?.of(row, self.prompter.train())?;
        self.prompter.prompts(row, ids, excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::retriever::Examples;
    use crate::error::Error;

    /// The row's own number, except for row 1.
    struct Flaky;

    impl Retriever for Flaky {
        fn retrieve(&mut self, index: usize) -> Result<Examples> {
            if index == 1 { Err(Error::other("it takes too long")) } else { Ok(vec![index as i64].into()) }
        }
    }

    #[test]
    fn a_row_after_an_error_has_its_own_examples() {
        let dataset = Dataset::parse(
            "sums.toml",
            br#"
            reader_cfg = { output_column = "a" }
            [infer_cfg]
            ice_template = { template = "{q} " }
            prompt_template = { template = "</E>{q}", ice_token = "</E>" }"#,
        );
        let row = |q: &str| Row::new(vec![("q".into(), q.into()), ("a".into(), "".into())]);
        let train = ["x0", "x1", "x2"].map(row);
        let mut prompter = DatasetPrompter::with_retriever(dataset.expect("a dataset"), train, Box::new(Flaky))
            .expect("its templates fit");
        let prompts = ["q0", "q1", "q2"].map(|q| prompter.prompts(&row(q), |_| Ok(0)));
        let text = |text: &str| Conversation::Text(text.into());
        let expected = [Some(text("x0 q0")), None, Some(text("x2 q2"))];
        assert_eq!(prompts.map(|prompts| prompts.ok().map(|prompts| prompts[0].conversation.clone())), expected);
    }
}
