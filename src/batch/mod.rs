//! Prompts side by side, as engines need them: padded to one length, with a mask, or packed.
//!
//! Padding is recognized by its position, never by its id: eos may pad, and be in a prompt as well.

mod pack;
mod plan;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use ndarray::{Array2, ArrayView1, Axis, Slice};
use serde::{Deserialize, Serialize};

use crate::assemble::{IGNORE_INDEX, TokenizedPrompt};
use crate::error::{Error, ErrorKind, Result, by_name, counted};
use crate::tokenizer::TokenId;
pub use pack::{Pack, PackPosition};
pub use plan::{BatchPlan, BatchSize};

/// The side of a prompt on which its padding is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaddingSide {
    /// Before the prompt, so that all prompts end where the model continues.
    #[default]
    Left,
    /// After the prompt, for training.
    Right,
}

impl FromStr for PaddingSide {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        by_name("padding_side", name, [("left", Self::Left), ("right", Self::Right)])
    }
}

/// The padding of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// The id of the padding, see [`crate::PromptBuilder::pad_token_id`].
    pub pad_token_id: TokenId,
    /// The side of the padding.
    pub padding_side: PaddingSide,
    /// Rows are as long as the longest prompt, rounded up to a multiple of this.
    pub pad_to_multiple_of: NonZeroUsize,
}

impl Padding {
    /// On the left, and no longer than the longest prompt.
    pub fn new(pad_token_id: TokenId) -> Self {
        Self { pad_token_id, padding_side: PaddingSide::Left, pad_to_multiple_of: NonZeroUsize::MIN }
    }

    /// How long all rows are if the longest prompt has this many tokens.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if no row can be that long.
    pub fn width(&self, longest: usize) -> Result<usize> {
        let width = longest.checked_next_multiple_of(self.pad_to_multiple_of.get());
        Ok(width.ok_or_else(|| {
            let what = format!("pad_to_multiple_of is {}, but no row can be that long", self.pad_to_multiple_of);
            ErrorKind::Usage(what)
        })?)
    }
}

/// The element type of arrays: `i64`, which most frameworks accept, or `u32`.
pub trait Dtype: Copy + Default + Send + Sync + sealed::Sealed + 'static {
    /// An id, or a position, as this type.
    fn of(number: u32) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for u32 {}
}

impl Dtype for i64 {
    fn of(number: u32) -> Self {
        number.into()
    }
}

impl Dtype for u32 {
    fn of(number: u32) -> Self {
        number
    }
}

/// Prompts as the rows of an array, in the order in which they were given.
///
/// ```
/// use metatok::batch::{Batch, Padding};
///
/// let batch: Batch<i64> = Batch::new(&[vec![5, 6, 7], vec![8]], Padding::new(0))?;
/// assert_eq!(batch.input_ids, ndarray::arr2(&[[5, 6, 7], [0, 0, 8]]));
/// assert_eq!(batch.attention_mask(), ndarray::arr2(&[[1, 1, 1], [0, 0, 1]]));
/// assert_eq!(batch.position_ids(), ndarray::arr2(&[[0, 1, 2], [0, 0, 0]]));
/// assert_eq!(batch.prompt(1), ndarray::arr1(&[8]));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<N = i64> {
    /// The ids: a row for each prompt, with padding.
    pub input_ids: Array2<N>,
    /// The number of columns, also when somebody has taken the ids.
    width: usize,
    lengths: Vec<usize>,
    padding_side: PaddingSide,
}

impl<N: Dtype> Batch<N> {
    /// The prompts side by side. Without prompts there are no rows.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if there is not enough memory, and those of [`Padding::width`].
    pub fn new<P: AsRef<[TokenId]>>(prompts: &[P], padding: Padding) -> Result<Self> {
        let lengths: Vec<usize> = prompts.iter().map(|prompt| prompt.as_ref().len()).collect();
        let width = padding.width(lengths.iter().copied().max().unwrap_or(0))?;
        let mut ids = room_for(prompts.len(), width)?;
        let pad = N::of(padding.pad_token_id);
        for prompt in prompts {
            let (prompt, row) = (prompt.as_ref(), ids.len());
            if padding.padding_side == PaddingSide::Left {
                ids.resize(row + width - prompt.len(), pad);
            }
            ids.extend(prompt.iter().map(|&id| N::of(id)));
            ids.resize(row + width, pad);
        }
        let input_ids = of_rows(prompts.len(), width, ids);
        Ok(Self { input_ids, width, lengths, padding_side: padding.padding_side })
    }

    /// Ones where a prompt's tokens are, zeros where its padding is.
    pub fn attention_mask(&self) -> Array2<N> {
        self.filled(N::default(), |prompt| prompt.fill(N::of(1)))
    }

    /// The position of each token in its prompt, from 0; zero for padding.
    pub fn position_ids(&self) -> Array2<N> {
        self.filled(N::default(), |prompt| {
            prompt.iter_mut().zip(0..).for_each(|(position, number)| *position = N::of(number));
        })
    }

    /// The labels of the prompts, from [`TokenizedPrompt::labels`], and [`IGNORE_INDEX`] for padding.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the number of labels differs from the number of prompts, or of tokens of a prompt.
    pub fn labels<L: AsRef<[i64]>>(&self, labels: &[L]) -> Result<Array2<i64>> {
        let lengths: Vec<usize> = labels.iter().map(|labels| labels.as_ref().len()).collect();
        if lengths != self.lengths {
            let differ = lengths.iter().zip(&self.lengths).position(|(labels, prompt)| labels != prompt);
            let what = match differ {
                Some(i) => {
                    let (tokens, labels) = (counted(self.lengths[i], "token"), counted(lengths[i], "label"));
                    format!("prompt {i} has {tokens}, but {labels}")
                }
                None => format!(
                    "the batch has {}, but there are labels for {}",
                    counted(self.lengths.len(), "prompt"),
                    lengths.len()
                ),
            };
            return Err(ErrorKind::Usage(what).into());
        }
        let mut labels = labels.iter();
        Ok(self.filled(IGNORE_INDEX, |prompt| {
            if let Some(labels) = labels.next() {
                prompt.copy_from_slice(labels.as_ref());
            }
        }))
    }

    /// A prompt without its padding: a view of its row.
    ///
    /// # Panics
    /// If there is no such row, as indexing an array does.
    pub fn prompt(&self, row: usize) -> ArrayView1<'_, N> {
        view(&self.input_ids, row, self.columns_of(self.lengths[row]))
    }

    /// How many tokens each prompt has.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// An array of this shape, which `fill` fills one prompt after the other.
    fn filled<T: Copy>(&self, elsewhere: T, mut fill: impl FnMut(&mut [T])) -> Array2<T> {
        let (rows, width) = (self.len(), self.width);
        let mut values = vec![elsewhere; rows * width];
        // Rows without columns have nothing to fill.
        for (row, &length) in values.chunks_exact_mut(width.max(1)).zip(&self.lengths) {
            fill(&mut row[self.columns_of(length)]);
        }
        of_rows(rows, width, values)
    }

    fn columns_of(&self, length: usize) -> Range<usize> {
        let width = self.width;
        match self.padding_side {
            PaddingSide::Left => width - length..width,
            PaddingSide::Right => 0..length,
        }
    }
}

impl AsRef<[TokenId]> for TokenizedPrompt {
    fn as_ref(&self) -> &[TokenId] {
        &self.input_ids
    }
}

/// Empty, with room for this many rows.
fn room_for<N>(rows: usize, width: usize) -> Result<Vec<N>> {
    let mut values = Vec::new();
    let has_room = rows.checked_mul(width).is_some_and(|count| values.try_reserve_exact(count).is_ok());
    if has_room {
        return Ok(values);
    }
    let what = format!("{} of {} do not fit into memory", counted(rows, "row"), counted(width, "token"));
    Err(ErrorKind::OutOfMemory(what).with_way_out("use fewer prompts at a time, or shorter rows"))
}

/// An array of rows that are already stored one after the other.
fn of_rows<N>(rows: usize, width: usize, values: Vec<N>) -> Array2<N> {
    Array2::from_shape_vec((rows, width), values).expect("every row was filled to its width")
}

/// Some columns of a row, not copied.
fn view<N>(array: &Array2<N>, row: usize, columns: Range<usize>) -> ArrayView1<'_, N> {
    let mut row = array.row(row);
    row.slice_axis_inplace(Axis(0), Slice::from(columns));
    row
}
