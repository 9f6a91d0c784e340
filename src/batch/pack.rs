//! Several prompts in one row, for engines and training code that separate them themselves.

use ndarray::{Array2, ArrayView1};

use crate::batch::{Dtype, of_rows, room_for, view};
use crate::error::{ErrorKind, Result, counted};
use crate::tokenizer::TokenId;

/// Prompts one after the other in rows of one length, padded on the right.
///
/// ```
/// use metatok::batch::Pack;
///
/// let pack: Pack<i64> = Pack::new(&[vec![5, 6, 7], vec![8], vec![9, 9]], 4, 0)?;
/// assert_eq!(pack.input_ids, ndarray::arr2(&[[5, 6, 7, 8], [9, 9, 0, 0]]));
/// assert_eq!(pack.position_ids, ndarray::arr2(&[[0, 1, 2, 0], [0, 1, 0, 0]]));
/// assert_eq!(pack.cu_seqlens, [vec![0, 3, 4], vec![0, 2]]);
/// assert_eq!(pack.prompt(2), ndarray::arr1(&[9, 9]));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack<N = i64> {
    /// The ids.
    pub input_ids: Array2<N>,
    /// The position of each token in its prompt, starting at 0 in each; zero for padding.
    pub position_ids: Array2<N>,
    /// Where the prompts of each row begin and where the last one ends: their cumulative lengths, as attention over sequences
    /// of different lengths needs them.
    pub cu_seqlens: Vec<Vec<u32>>,
    /// The position of each prompt, in the order in which they were given.
    pub places: Vec<PackPosition>,
}

/// The position of a prompt in a [`Pack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackPosition {
    /// The row.
    pub row: usize,
    /// The column of its first token.
    pub start: usize,
    /// How many tokens it has.
    pub len: usize,
}

/// The room left in each row, as a tree: each node has the most room below it, and its children are at twice its place.
struct Rooms(Vec<usize>);

impl Rooms {
    /// The room of `rows` rows, all empty.
    fn of(rows: usize, row_len: usize) -> Self {
        Self(vec![row_len; 2 * rows.next_power_of_two()])
    }

    /// The first row with room for this many tokens, which it then lacks. Each row has room for any prompt, and each
    /// prompt a row.
    fn take(&mut self, len: usize) -> usize {
        let leaves = self.0.len() / 2;
        let mut at = 1;
        while at < leaves {
            at = if self.0[2 * at] >= len { 2 * at } else { 2 * at + 1 };
        }
        let row = at - leaves;
        self.0[at] -= len;
        while at > 1 {
            at /= 2;
            self.0[at] = self.0[2 * at].max(self.0[2 * at + 1]);
        }
        row
    }
}

impl<N: Dtype> Pack<N> {
    /// Each prompt is put, the longest first, into the first row that has room for it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] names a prompt that is longer than a row, and rows that are too long to be counted;
    /// [`ErrorKind::OutOfMemory`] if there is not enough memory for them.
    pub fn new<P: AsRef<[TokenId]>>(prompts: &[P], row_len: usize, pad_token_id: TokenId) -> Result<Self> {
        if u32::try_from(row_len).is_err() {
            return Err(
                ErrorKind::Usage(format!("rows of {row_len} tokens are longer than positions can count")).into()
            );
        }
        let lengths: Vec<usize> = prompts.iter().map(|prompt| prompt.as_ref().len()).collect();
        if let Some(prompt) = lengths.iter().position(|&length| length > row_len) {
            let what =
                format!("prompt {prompt} has {}, more than the {row_len} of a row", counted(lengths[prompt], "token"));
            return Err(ErrorKind::Usage(what).into());
        }
        let mut order: Vec<usize> = (0..prompts.len()).collect();
        order.sort_by_key(|&prompt| std::cmp::Reverse(lengths[prompt]));
        let mut cu_seqlens: Vec<Vec<u32>> = Vec::new();
        let mut places = vec![PackPosition { row: 0, start: 0, len: 0 }; prompts.len()];
        let mut rooms = Rooms::of(prompts.len(), row_len);
        for prompt in order {
            let len = lengths[prompt];
            let row = rooms.take(len);
            if row == cu_seqlens.len() {
                cu_seqlens.push(vec![0]);
            }
            let start = cu_seqlens[row].last().map_or(0, |&end| end as usize);
            cu_seqlens[row].push((start + len) as u32);
            places[prompt] = PackPosition { row, start, len };
        }
        let rows = cu_seqlens.len();
        let mut ids = room_for(rows, row_len)?;
        ids.resize(rows * row_len, N::of(pad_token_id));
        let mut positions = room_for(rows, row_len)?;
        positions.resize(rows * row_len, N::default());
        for (prompt, &PackPosition { row, start, len }) in prompts.iter().zip(&places) {
            let at = row * row_len + start..row * row_len + start + len;
            let filled = ids[at.clone()].iter_mut().zip(&mut positions[at]).zip(prompt.as_ref()).zip(0..);
            for (((id, position), &token), number) in filled {
                (*id, *position) = (N::of(token), N::of(number));
            }
        }
        Ok(Self {
            input_ids: of_rows(rows, row_len, ids),
            position_ids: of_rows(rows, row_len, positions),
            cu_seqlens,
            places,
        })
    }

    /// A prompt: a view of its part of the row.
    ///
    /// # Panics
    /// If there is no such prompt, as indexing an array does.
    pub fn prompt(&self, prompt: usize) -> ArrayView1<'_, N> {
        let PackPosition { row, start, len } = self.places[prompt];
        view(&self.input_ids, row, start..start + len)
    }
}
