//! Dividing the likelihoods of labels by their lengths: of a longer label they are lower, however good it is.

use crate::score::LogLikelihood;

/// The length by which a label's log-likelihood is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormalizeBy {
    /// The number of the label's characters: `acc_norm` of lm-evaluation-harness.
    Characters,
    /// The number of its bytes in UTF-8: `acc_bytes` of lm-evaluation-harness.
    Bytes,
    /// The number of tokens that are scored.
    Tokens,
}

impl NormalizeBy {
    /// The length of a label. Of an empty one it may be 0.
    ///
    /// ```
    /// use metatok::score::{LogLikelihood, NormalizeBy};
    ///
    /// let likelihood = LogLikelihood { sum: -6.0, tokens: 2 };
    /// let by = [NormalizeBy::Characters, NormalizeBy::Bytes, NormalizeBy::Tokens];
    /// assert_eq!(by.map(|by| by.length("café", likelihood)), [4, 5, 2]);
    /// ```
    pub fn length(self, label: &str, likelihood: LogLikelihood) -> usize {
        match self {
            Self::Characters => label.chars().count(),
            Self::Bytes => label.len(),
            Self::Tokens => likelihood.tokens,
        }
    }
}
