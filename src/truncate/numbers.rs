//! The numbers that kept messages and examples have in the whole conversation.

/// The numbers that were dropped: how many kept ones come before each of them, in order.
pub(super) struct Numbers(Vec<usize>);

impl Numbers {
    /// All numbers without the dropped ones, which are in order.
    pub(super) fn without(gone: &[usize]) -> Self {
        Self(gone.iter().enumerate().map(|(before, gone)| gone - before).collect())
    }

    /// The number in the whole conversation of the kept one with this number.
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
