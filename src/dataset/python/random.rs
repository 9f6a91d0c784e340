//! Numbers as Python's `random.Random` draws them.

use foldhash::{HashSet, HashSetExt};
use rand_mt::Mt;

/// `random.Random(seed)`.
pub(crate) struct PythonRandom(Mt);

impl PythonRandom {
    pub(crate) fn new(seed: u32) -> Self {
        // Python seeds with the integer's 32-bit digits.
        Self(Mt::new_with_key([seed]))
    }

    /// `_randbelow`: as many of the highest bits as the bound has, drawn until they fit.
    fn below(&mut self, bound: u32) -> u32 {
        let bits = bound.ilog2() + 1;
        loop {
            let drawn = self.0.next_u32() >> (32 - bits);
            if drawn < bound {
                return drawn;
            }
        }
    }

    /// `shuffle`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }

    /// The positions that `sample(population, k)` picks out of this many.
    pub(crate) fn sample(&mut self, population: u32, k: u32) -> Vec<u32> {
        if population <= pool_size(k) { self.sample_pool(population, k) } else { self.sample_apart(population, k) }
    }

    /// Each is taken out of a list of all, and the last one takes its place.
    fn sample_pool(&mut self, population: u32, k: u32) -> Vec<u32> {
        let mut pool: Vec<u32> = (0..population).collect();
        let take = |left: u32| pool.swap_remove(self.below(left) as usize);
        (0..k).map(|taken| population - taken).map(take).collect()
    }

    /// A position that was already drawn is drawn again.
    fn sample_apart(&mut self, population: u32, k: u32) -> Vec<u32> {
        let (mut drawn, mut known) = (Vec::with_capacity(k as usize), HashSet::new());
        while drawn.len() < k as usize {
            let place = self.below(population);
            if known.insert(place) {
                drawn.push(place);
            }
        }
        drawn
    }
}

/// Up to this size Python makes a list of all, which is smaller than a set of the drawn positions.
fn pool_size(k: u32) -> u32 {
    match k {
        0..=5 => 21,
        _ => 21 + (1..u32::BITS / 2).map(|digits| 1 << (2 * digits)).find(|&set| set >= 3 * k).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn samples_are_different_places(seed: u32, population in 1_u32..2_000, share in 0.0_f64..=1.0) {
            let k = (f64::from(population) * share) as u32;
            let sample = PythonRandom::new(seed).sample(population, k);
            prop_assert_eq!(sample.len(), k as usize);
            prop_assert!(sample.iter().all(|&place| place < population));
            prop_assert_eq!(sample.iter().collect::<HashSet<_>>().len(), k as usize);
        }
    }

    /// What CPython 3.11 draws: `r = random.Random(seed)`, and then `r.sample(range(population), k)` three times.
    #[test]
    fn samples_are_those_of_python() {
        for (seed, population, k, expected) in [
            (1234, 8, 5, [vec![7, 0, 6, 5, 4], vec![1, 0, 2, 7, 6], vec![0, 6, 7, 2, 3]]),
            (1234, 21, 5, [vec![14, 3, 0, 2, 1], vec![2, 3, 11, 7, 0], vec![0, 20, 11, 15, 14]]),
            (1234, 22, 5, [vec![14, 3, 0, 2, 18], vec![1, 21, 2, 3, 11], vec![7, 0, 11, 20, 19]]),
            (0, 22, 3, [vec![12, 13, 1], vec![8, 16, 15], vec![12, 9, 15]]),
            (1234, 85, 6, [vec![56, 14, 0, 11, 74, 4], vec![10, 12, 45, 30, 2, 3], vec![2, 44, 82, 79, 61, 78]]),
            (7, 86, 6, [vec![41, 19, 50, 83, 6, 9], vec![68, 12, 46, 74, 7, 64], vec![27, 4, 11, 55, 53, 8]]),
            (4294967295, 1000, 2, [vec![650, 634], vec![208, 220], vec![621, 534]]),
            (
                1234,
                7473,
                6,
                [
                    vec![6374, 3610, 957, 61, 742, 7462],
                    vec![6610, 4769, 286, 5501, 5677, 687],
                    vec![806, 6279, 2905, 1939, 142, 252],
                ],
            ),
            (43, 3, 3, [vec![0, 1, 2], vec![1, 2, 0], vec![1, 2, 0]]),
        ] {
            let mut random = PythonRandom::new(seed);
            for expected in expected {
                assert_eq!(random.sample(population, k), expected, "{seed}, {population}, {k}");
            }
        }
    }
}
