//! The ids that content must not produce.

use std::cmp::Reverse;

use crate::tokenizer::TokenId;

/// The most ranges that ids are compared with.
const MOST_RANGES: usize = 4;

/// The ids that only the template may give.
pub(crate) struct Reserved {
    ids: Vec<TokenId>,
    /// Where they are: the first and the last of each range.
    ranges: Vec<(TokenId, TokenId)>,
}

impl Reserved {
    pub(crate) fn new(ids: impl IntoIterator<Item = TokenId>) -> Self {
        let mut ids: Vec<TokenId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ranges: ranges(&ids), ids }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.ids.iter().copied()
    }

    pub(crate) fn contains(&self, id: TokenId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// Whether any of these ids is reserved. Reserved ids are mostly the first and the last of all, so a comparison with
    /// each range, which the compiler vectorizes, is nearly always enough.
    pub(crate) fn any(&self, ids: &[TokenId]) -> bool {
        let is_near = |(low, high): &(TokenId, TokenId)| {
            ids.iter().fold(false, |near, id| near | (id.wrapping_sub(*low) <= high - low))
        };
        self.ranges.iter().any(is_near) && ids.iter().any(|id| self.contains(*id))
    }
}

/// The ranges of these ids, which are in order, without the widest gaps between them.
fn ranges(ids: &[TokenId]) -> Vec<(TokenId, TokenId)> {
    let mut starts: Vec<usize> = (1..ids.len()).filter(|start| ids[*start] - ids[start - 1] > 1).collect();
    starts.sort_by_key(|start| Reverse(ids[*start] - ids[start - 1]));
    starts.truncate(MOST_RANGES - 1);
    starts.extend([0, ids.len()]);
    starts.sort_unstable();
    starts.windows(2).filter(|range| range[0] < range[1]).map(|range| (ids[range[0]], ids[range[1] - 1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ids_are_found_wherever_they_are() {
        for ids in [&[][..], &[7], &[0, 1, 2, 100, 101, 5_000, 9_000, 9_001], &[3, 5, 7, 9, 11, 13, TokenId::MAX]] {
            let reserved = Reserved::new(ids.iter().rev().copied());
            assert!(reserved.ranges.len() <= MOST_RANGES);
            for id in (0..10_000).chain([TokenId::MAX - 1, TokenId::MAX]) {
                assert_eq!(reserved.any(&[4_000, id, 4_001]), ids.contains(&id), "{id} among {ids:?}");
            }
        }
    }
}
