//! Which prompts go into one batch.

use std::num::NonZeroUsize;

use crate::error::{ErrorKind, Result, counted};

/// How large a batch may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// This many prompts.
    Prompts(NonZeroUsize),
    /// This many tokens, including padding: the longest prompt's, times the number of prompts.
    Tokens(NonZeroUsize),
}

/// Batches of prompts by their indices in a list, and the way back.
///
/// ```
/// use std::num::NonZeroUsize;
/// use metatok::batch::{BatchPlan, BatchSize};
///
/// let size = BatchSize::Tokens(NonZeroUsize::new(8).expect("it is not zero"));
/// let plan = BatchPlan::by_length(&[4, 1, 7, 2], size)?;
/// assert_eq!(plan.batches(), [vec![2], vec![0, 3], vec![1]]);
/// let answers = plan.batches().iter().flatten().map(|prompt| format!("answer {prompt}"));
/// assert_eq!(plan.restore(answers.collect())?, ["answer 0", "answer 1", "answer 2", "answer 3"]);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPlan {
    batches: Vec<Vec<usize>>,
}

impl BatchPlan {
    /// Batches of neighbours.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] names a prompt that is longer than a whole batch may be.
    pub fn in_order(lengths: &[usize], size: BatchSize) -> Result<Self> {
        Self::of((0..lengths.len()).collect(), lengths, size)
    }

    /// Batches of prompts with similar lengths, the longest first: there is less padding, and if something does not fit
    /// into memory, it fails at once. Prompts of one length keep their order.
    ///
    /// # Errors
    /// The same as for [`Self::in_order`].
    pub fn by_length(lengths: &[usize], size: BatchSize) -> Result<Self> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&prompt| std::cmp::Reverse(lengths[prompt]));
        Self::of(order, lengths, size)
    }

    fn of(order: Vec<usize>, lengths: &[usize], size: BatchSize) -> Result<Self> {
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut longest = 0;
        for prompt in order {
            let length = lengths[prompt];
            if let BatchSize::Tokens(budget) = size
                && length > budget.get()
            {
                let what = format!(
                    "prompt {prompt} has {}, more than the {budget} of a whole batch",
                    counted(length, "token")
                );
                return Err(ErrorKind::Usage(what).into());
            }
            let fits = |batch: &&mut Vec<usize>| match size {
                BatchSize::Prompts(count) => batch.len() < count.get(),
                BatchSize::Tokens(budget) => {
                    let tokens = length.max(longest).checked_mul(batch.len() + 1);
                    tokens.is_some_and(|tokens| tokens <= budget.get())
                }
            };
            match batches.last_mut().filter(fits) {
                Some(batch) => {
                    batch.push(prompt);
                    longest = longest.max(length);
                }
                None => {
                    batches.push(vec![prompt]);
                    longest = length;
                }
            }
        }
        Ok(Self { batches })
    }

    /// The batches, each a list of indices.
    pub fn batches(&self) -> &[Vec<usize>] {
        &self.batches
    }

    /// The results of the prompts, batch by batch, in the prompts' original order.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the number of results differs from the number of prompts.
    pub fn restore<T>(&self, results: Vec<T>) -> Result<Vec<T>> {
        let count: usize = self.batches.iter().map(Vec::len).sum();
        if results.len() != count {
            let what = format!(
                "the batches have {}, but there is not one result for each: {}",
                counted(count, "prompt"),
                results.len()
            );
            return Err(ErrorKind::Usage(what).into());
        }
        let mut placed: Vec<(usize, T)> = self.batches.iter().flatten().copied().zip(results).collect();
        placed.sort_by_key(|(place, _)| *place);
        Ok(placed.into_iter().map(|(_, result)| result).collect())
    }
}
