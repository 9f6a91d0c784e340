//! Finding out how many units must go, by an estimate where it proves right, and else by trying.

use crate::error::Result;
use crate::fewest_dropped::{Left, fewest_dropped, first_that_fits};

/// The first number of units, not zero, without which no more than `limit` tokens are left; the last call of `left` is for this
/// number, or for all units if there is none. `estimates` says how many are probably left without each number
/// of units, from none on.
pub(super) fn fewest_dropped_by_estimate(
    most: usize,
    estimates: &[usize],
    limit: usize,
    mut left: impl FnMut(usize) -> Result<Left>,
) -> Result<Option<usize>> {
    /// Too many tokens by this are too many, whatever an estimate leaves out.
    const CLEARLY: usize = 36;
    /// A right estimate is wrong by at most this many tokens, because what is next to each other now was not before.
    const WRONG: usize = 4;
    let guess = estimates.iter().take_while(|left| **left > limit + CLEARLY).count().clamp(1, most.max(1));
    if let Some(estimate) = estimates.get(guess) {
        let at_guess = left(guess)?;
        if at_guess.tokens.abs_diff(*estimate) <= WRONG {
            let mut known = Some(at_guess);
            return first_that_fits(guess, most, limit, |count| known.take().map_or_else(|| left(count), Ok));
        }
    }
    fewest_dropped(most, guess.saturating_sub(1), limit, left)
}
