//! Dividing the likelihoods of labels by their lengths: of a longer label they are lower, however good it is.

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
    /// The length of `label`; `tokens` is how many of its tokens are scored. It may be 0 for an empty label.
    ///
    /// ```
    /// use metatok::score::NormalizeBy;
    ///
    /// let by = [NormalizeBy::Characters, NormalizeBy::Bytes, NormalizeBy::Tokens];
    /// assert_eq!(by.map(|by| by.length("café", 2)), [4, 5, 2]);
    /// ```
    pub fn length(self, label: &str, tokens: usize) -> usize {
        match self {
            Self::Characters => label.chars().count(),
            Self::Bytes => label.len(),
            Self::Tokens => tokens,
        }
    }
}
