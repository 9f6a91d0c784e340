//! Reading files ahead, to know how many lines there are to answer side by side.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use crate::input::Batches;

/// Returns the batches, and how many of their lines to answer side by side: up to `batch_size`, but not more than there
/// are, because every step of the engine computes a row for each. Only for files, which can be read ahead without
/// waiting.
pub(super) fn read_ahead(mut batches: Batches, batch_size: NonZeroUsize) -> (Batches, NonZeroUsize) {
    let mut ahead = VecDeque::new();
    let mut lines = 0;
    while lines < batch_size.get() {
        let Some(batch) = batches() else { break };
        lines += batch.lines.len();
        ahead.push_back(batch);
    }
    let side_by_side = NonZeroUsize::new(lines).unwrap_or(NonZeroUsize::MIN).min(batch_size);
    (Box::new(move || ahead.pop_front().or_else(&mut batches)), side_by_side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::prepared::line_batches;

    #[test]
    fn no_more_rows_than_lines_and_no_line_is_lost() {
        for (batch_size, expected) in [(1, 1), (2, 2), (3, 3), (8, 3)] {
            let inputs = ["\"1\"\n\"2\"\n", "", "\"3\"\n"].map(|lines| Input::new("lines", lines.as_bytes()));
            let batches = line_batches(None, inputs.into(), 100, None).expect("they are lines");
            let batch_size = NonZeroUsize::new(batch_size).expect("it is not 0");
            let (batches, side_by_side) = read_ahead(batches, batch_size);
            let lines: usize = std::iter::from_fn(batches).map(|batch| batch.lines.len()).sum();
            assert_eq!((side_by_side.get(), lines), (expected, 3));
        }
    }
}
