//! How the text of a byte-level vocabulary is cut.

use serde_json::Value;

use crate::tokenizer::bpe::split::pattern::Pattern;
use crate::tokenizer::bpe::split::splits::Splits;

/// By a pattern that is known, or by any other steps.
pub(crate) enum Cuts {
    Pattern(Pattern),
    Splits(Splits),
}

impl Cuts {
    /// Those of a pre-tokenizer; none if it does more than cut.
    pub(crate) fn of(pre_tokenizer: &Value) -> Option<Self> {
        let pattern = Pattern::of_bytes(pre_tokenizer).map(Self::Pattern);
        pattern.or_else(|| Splits::of_bytes(pre_tokenizer).map(Self::Splits))
    }
}
