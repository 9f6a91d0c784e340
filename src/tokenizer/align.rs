//! Transferring the offsets of one library to the ids of the other.

use std::ops::Range;

use crate::tokenizer::TokenId;

/// Transfers the offsets of `reference` to equal ids from both ends. Ids that differ in between (code points newer than
/// one library's Unicode tables) share the bytes in between.
pub(crate) fn align(ids: &[TokenId], reference: &[(TokenId, Range<usize>)], len: usize) -> Vec<Range<usize>> {
    let same = |(id, token): &(&TokenId, &(TokenId, Range<usize>))| **id == token.0;
    let head = ids.iter().zip(reference).take_while(same).count();
    let (ids_rest, reference_rest) = (&ids[head..], &reference[head..]);
    let tail = ids_rest.iter().rev().zip(reference_rest.iter().rev()).take_while(same).count();
    let start = reference[..head].last().map_or(0, |(_, bytes)| bytes.end);
    let end = reference_rest[reference_rest.len() - tail..].first().map_or(len, |(_, bytes)| bytes.start);
    let middle = std::iter::repeat_n(start..end.max(start), ids_rest.len() - tail);
    let offsets =
        |tokens: &[(TokenId, Range<usize>)]| tokens.iter().map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>();
    let mut all = offsets(&reference[..head]);
    all.extend(middle);
    all.extend(offsets(&reference_rest[reference_rest.len() - tail..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_shares_the_bytes_in_between() {
        let reference = [(1, 0..2), (2, 2..3), (3, 3..6)];
        assert_eq!(align(&[1, 2, 3], &reference, 6), [0..2, 2..3, 3..6]);
        assert_eq!(align(&[1, 7, 8, 3], &reference, 6), [0..2, 2..3, 2..3, 3..6]);
        assert_eq!(align(&[1, 3], &reference, 6), [0..2, 3..6]);
        assert_eq!(align(&[9], &reference, 6), std::slice::from_ref(&(0..6)));
        assert!(align(&[], &reference, 6).is_empty());
        assert_eq!(align(&[5, 5], &[], 4), [0..4, 0..4]);
    }
}
