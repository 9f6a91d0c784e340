//! How much two lists have in common at their beginning.

/// How many of their first items are the same.
pub(crate) fn common_prefix<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
