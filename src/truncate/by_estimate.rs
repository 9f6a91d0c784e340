//! Finding out how many units must go, by an estimate where it proves right, and else by trying.

use crate::error::Result;
use crate::fewest_dropped::fewest_dropped;

/// The first number of units, not zero, without which no more than `limit` tokens are left; `tokens` counts them, the last
/// time for this number, or for all units if there is none. `estimates` says how many are probably left without each number
/// of units, from none on.
pub(super) fn fewest_dropped_by_estimate(
    most: usize,
    estimates: &[usize],
    limit: usize,
    mut tokens: impl FnMut(usize) -> Result<usize>,
) -> Result<Option<usize>> {
    /// Too many tokens by this are too many, whatever an estimate leaves out.
    const CLEARLY: usize = 36;
    /// A right estimate is wrong by at most this many tokens, because what is next to each other now was not before.
    const WRONG: usize = 4;
    let mut guess = estimates.iter().take_while(|left| **left > limit + CLEARLY).count().clamp(1, most.max(1));
    if let Some(estimate) = estimates.get(guess) {
        let mut left = tokens(guess)?;
        if left.abs_diff(*estimate) <= WRONG {
            while left > limit && guess < most {
                guess += 1;
                left = tokens(guess)?;
            }
            return Ok((left <= limit).then_some(guess));
        }
    }
    fewest_dropped(most, guess.saturating_sub(1), |count| Ok(tokens(count)?.saturating_sub(limit)))
}
