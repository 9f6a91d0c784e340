//! Finding out, with few prompts built, how little must be dropped so that a prompt fits.

use crate::error::Result;

/// Dropping something may make a prompt longer: its neighbours may then merge differently, or the template may write
/// something else. But not by more tokens than this.
const SLACK: usize = 32;

/// What is left when some number of things is dropped.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    /// How many tokens it has.
    pub(crate) tokens: usize,
    /// A number that stands for the prompt: others have another.
    pub(crate) prompt: u64,
}

impl Left {
    /// What cannot be a prompt.
    pub(crate) const NO_PROMPT: Self = Self { tokens: usize::MAX, prompt: 0 };
}

/// The first number from 1 to `most` for which no more than `limit` tokens are left. The last call is for this number, or for
/// `most` if there is none. `left` drops that many things.
///
/// The number of calls grows with the logarithm of the distance from `guess`. Guess low rather than high. Only within the
/// slack, numbers are tried one by one, see [`first_that_fits`]. So the result is the same as if all had been tried in order.
pub(crate) fn fewest_dropped(
    most: usize,
    guess: usize,
    limit: usize,
    left: impl FnMut(usize) -> Result<Left>,
) -> Result<Option<usize>> {
    if most == 0 {
        return Ok(None);
    }
    let mut left = remembering(left);
    let mut is_near = |gone| -> Result<bool> { Ok(left(gone)?.tokens <= limit.saturating_add(SLACK)) };
    // With `too_few` dropped it is far too long, so with fewer dropped it is too.
    let (mut too_few, mut near) = (0, None);
    let (mut tried, mut step) = (guess.min(most), 1);
    while tried > 0 {
        if !is_near(tried)? {
            too_few = tried;
            break;
        }
        near = Some(tried);
        (tried, step) = (tried.saturating_sub(step), step * 2);
    }
    step = 1;
    let mut near = loop {
        if let Some(near) = near {
            break near;
        }
        if too_few == most {
            return Ok(None);
        }
        let tried = most.min(too_few + step);
        match is_near(tried)? {
            true => near = Some(tried),
            false => (too_few, step) = (tried, step * 2),
        }
    };
    while near - too_few > 1 {
        let tried = too_few + (near - too_few) / 2;
        match is_near(tried)? {
            true => near = tried,
            false => too_few = tried,
        }
    }
    first_that_fits(near, most, limit, left)
}

/// The first number from `first` to `most` for which no more than `limit` tokens are left; the last call is as for
/// [`fewest_dropped`].
///
/// Numbers are tried one by one. But if two leave the same prompt, so do all between them: there may be thousands of turns
/// that write nothing.
pub(crate) fn first_that_fits(
    first: usize,
    most: usize,
    limit: usize,
    left: impl FnMut(usize) -> Result<Left>,
) -> Result<Option<usize>> {
    let mut left = remembering(left);
    let mut tried = first;
    while tried <= most {
        let Left { tokens, prompt } = left(tried)?;
        if tokens <= limit {
            return Ok(Some(tried));
        }
        let (mut same, mut other, mut step) = (tried, most + 1, 1);
        while other - same > 1 {
            let next = if other > most { most.min(same + step) } else { same + (other - same) / 2 };
            // What fails further on is another prompt.
            match left(next).is_ok_and(|left| left.prompt == prompt) {
                true => (same, step) = (next, step * 2),
                false => other = next,
            }
        }
        tried = other;
    }
    Ok(None)
}

/// The same function, which is not asked twice in a row for the same number.
fn remembering(mut left: impl FnMut(usize) -> Result<Left>) -> impl FnMut(usize) -> Result<Left> {
    let mut last = None;
    move |gone| match last {
        Some((of, known)) if of == gone => Ok(known),
        _ => {
            let now = left(gone)?;
            last = Some((gone, now));
            Ok(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_if_all_were_tried(
            // What each thing that goes takes from the length, and by how much the length then differs from the sum. Many
            // take nothing, and change nothing.
            lengths in prop::collection::vec(prop_oneof![Just((0, 0)), (1_usize..60, 0_usize..=SLACK)], 0..200),
            limit in 0_usize..3_000,
            guess in 0_usize..250,
        ) {
            let left = |gone: usize| {
                let tokens: usize = lengths[gone..].iter().map(|(length, _)| length).sum();
                let differs = lengths[..gone].iter().rev().find(|(length, _)| *length > 0).map_or(0, |last| last.1);
                let others = lengths[gone..].iter().filter(|(length, _)| *length > 0).count();
                Left { tokens: tokens + differs, prompt: others as u64 }
            };
            let one_by_one = (1..=lengths.len()).find(|&gone| left(gone).tokens <= limit);
            let mut last = 0;
            let found = fewest_dropped(lengths.len(), guess, limit, |gone| {
                last = gone;
                Ok(left(gone))
            });
            prop_assert_eq!(found.ok(), Some(one_by_one));
            prop_assert_eq!(last, one_by_one.unwrap_or(lengths.len()));
        }
    }

    #[test]
    fn few_are_tried() {
        for answer in [1_usize, 2, 100, 9_999, 10_000] {
            for (guess, most) in [(0, 40), (answer - 1, 8), (answer.saturating_sub(5), 16), (10_000, 40)] {
                let mut tried = 0;
                let found = fewest_dropped(10_000, guess, 0, |gone| {
                    tried += 1;
                    let left = answer - gone.min(answer);
                    Ok(Left { tokens: left * 10, prompt: left as u64 })
                });
                assert_eq!(found.ok(), Some(Some(answer)));
                assert!(tried < most, "{tried} for {answer} from {guess}");
            }
        }
    }

    #[test]
    fn what_changes_nothing_is_not_tried_one_by_one() {
        // Three things have tokens, and thousands between them have none.
        let with_tokens = [5_000, 12_000, 12_001];
        for (limit, answer) in [(25, Some(5_000)), (15, Some(12_000)), (5, Some(12_001)), (0, None)] {
            for guess in [0, 4_999, 11_000, 16_000] {
                let mut tried = 0;
                let found = fewest_dropped(16_000, guess, limit, |gone| {
                    tried += 1;
                    let left = with_tokens.iter().filter(|&&at| at > gone).count();
                    Ok(Left { tokens: left * 10 + 1, prompt: left as u64 })
                });
                assert_eq!(found.ok(), Some(answer));
                assert!(tried < 120, "{tried} for {answer:?} from {guess}");
            }
        }
    }
}
