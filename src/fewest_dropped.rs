//! Finding out, with few prompts built, how little must be dropped so that a prompt fits.

use crate::error::Result;

/// Dropping something may make a prompt longer: its neighbours may then merge differently, or the template may write
/// something else. But not by more tokens than this.
const SLACK: usize = 32;

/// The first number from 1 to `most` for which `excess` is zero. The last call is for this number, or for `most` if
/// there is none. `excess` returns by how many tokens the prompt is too long when that many things are dropped.
///
/// The number of calls grows with the logarithm of the distance from `guess`, which is rather too few; only within the
/// slack, numbers are tried one by one. So the result is the same as if all had been tried in order.
pub(crate) fn fewest_dropped(
    most: usize,
    guess: usize,
    mut excess: impl FnMut(usize) -> Result<usize>,
) -> Result<Option<usize>> {
    if most == 0 {
        return Ok(None);
    }
    let mut last = (0, 0);
    let mut excess = |gone| -> Result<usize> {
        if last.0 != gone {
            last = (gone, excess(gone)?);
        }
        Ok(last.1)
    };
    // With `too_few` dropped it is far too long, so with fewer dropped it is too.
    let (mut too_few, mut near) = (0, None);
    let (mut tried, mut step) = (guess.min(most), 1);
    while tried > 0 {
        if excess(tried)? > SLACK {
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
        match excess(tried)? {
            ..=SLACK => near = Some(tried),
            _ => (too_few, step) = (tried, step * 2),
        }
    };
    while near - too_few > 1 {
        let tried = too_few + (near - too_few) / 2;
        match excess(tried)? {
            ..=SLACK => near = tried,
            _ => too_few = tried,
        }
    }
    for tried in near..=most {
        if excess(tried)? == 0 {
            return Ok(Some(tried));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_if_all_were_tried(
            // What each thing that goes takes from the length, and by how much the length then differs from the sum.
            lengths in prop::collection::vec((0_usize..60, 0_usize..=SLACK), 0..200),
            limit in 0_usize..3_000,
            guess in 0_usize..250,
        ) {
            let excess = |gone: usize| {
                let left: usize = lengths[gone..].iter().map(|(length, _)| length).sum();
                (left + lengths[gone - 1].1).saturating_sub(limit)
            };
            let one_by_one = (1..=lengths.len()).find(|&gone| excess(gone) == 0);
            let mut last = 0;
            let found = fewest_dropped(lengths.len(), guess, |gone| {
                last = gone;
                Ok(excess(gone))
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
                let found = fewest_dropped(10_000, guess, |gone| {
                    tried += 1;
                    Ok((answer - gone.min(answer)) * 10)
                });
                assert_eq!(found.ok(), Some(Some(answer)));
                assert!(tried < most, "{tried} for {answer} from {guess}");
            }
        }
    }
}
