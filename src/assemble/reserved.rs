//! The ids that content must not produce.

use crate::tokenizer::TokenId;

/// The ids that only the template may give.
pub(crate) struct Reserved {
    ids: Vec<TokenId>,
}

impl Reserved {
    pub(crate) fn new(ids: impl IntoIterator<Item = TokenId>) -> Self {
        let mut ids: Vec<TokenId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.ids.iter().copied()
    }

    pub(crate) fn contains(&self, id: TokenId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// Whether any of these ids is reserved. Reserved ids are mostly close together, far from all others, so one
    /// comparison per id, which the compiler vectorizes, is nearly always enough.
    pub(crate) fn any(&self, ids: &[TokenId]) -> bool {
        let (Some(&low), Some(&high)) = (self.ids.first(), self.ids.last()) else { return false };
        let near = ids.iter().fold(false, |near, id| near | (id.wrapping_sub(low) <= high - low));
        near && ids.iter().any(|id| self.contains(*id))
    }
}
