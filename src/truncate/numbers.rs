//! The numbers of what is left, among all that there was.

/// Which numbers are gone: for each of them, in order, how many that are left come before it.
pub(super) struct Numbers(Vec<usize>);

impl Numbers {
    /// All numbers without these, which are in order.
    pub(super) fn without(gone: &[usize]) -> Self {
        Self(gone.iter().enumerate().map(|(before, gone)| gone - before).collect())
    }

    /// The number among all of what has this number among those that are left.
    pub(super) fn among_all(&self, left: usize) -> usize {
        left + self.0.partition_point(|before| *before <= left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_keeps_its_numbers() {
        for gone in [&[][..], &[0], &[1, 2], &[0, 1, 4], &[2, 5, 6, 9]] {
            let numbers = Numbers::without(gone);
            let left = (0..12).filter(|number| !gone.contains(number));
            assert!(left.enumerate().all(|(at, number)| numbers.among_all(at) == number), "{gone:?}");
        }
    }
}
