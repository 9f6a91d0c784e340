//! How long prompts are, and how many of them leave too little room for their answers.
//!
//! ```
//! let mut lengths = metatok::lengths::Lengths::default();
//! lengths.add(90, 20);
//! lengths.add(10, 20);
//! assert_eq!(lengths.longer_than(100), 1);
//! ```

/// The lengths of prompts, in tokens. Each takes 16 bytes until they are summarized.
///
/// ```
/// let mut lengths = metatok::lengths::Lengths::default();
/// (1..=100).for_each(|tokens| lengths.add(tokens, 20));
/// let summary = lengths.summary().expect("there are some");
/// assert_eq!((summary.min, summary.p50, summary.p95, summary.max), (1, 50, 95, 100));
/// assert_eq!((summary.total, summary.mean()), (5050, 50.5));
/// // 80 and 20 fit into a context of 100.
/// assert_eq!(lengths.longer_than(100), 20);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lengths {
    prompts: Vec<Length>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Length {
    tokens: u64,
    max_out_len: u64,
}

/// A summary of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthSummary {
    /// How many prompts there are.
    pub prompts: u64,
    /// The tokens of all of them.
    pub total: u64,
    /// The tokens of the shortest.
    pub min: u64,
    /// Half of the prompts are no longer than this.
    pub p50: u64,
    /// 95 % of the prompts are no longer than this.
    pub p95: u64,
    /// The tokens of the longest.
    pub max: u64,
}

impl LengthSummary {
    /// Tokens of a prompt on average.
    #[allow(clippy::cast_precision_loss, reason = "a mean of less than 2^52 tokens is exact enough")]
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.prompts as f64
    }
}

impl Lengths {
    /// Adds a prompt with this many tokens, whose answer may have `max_out_len` tokens.
    pub fn add(&mut self, tokens: u64, max_out_len: u64) {
        self.prompts.push(Length { tokens, max_out_len });
    }

    /// Adds the prompts of another.
    pub fn append(&mut self, other: &Self) {
        self.prompts.extend_from_slice(&other.prompts);
    }

    /// The summary, by nearest rank: every value is the length of a prompt. None if there are no prompts.
    pub fn summary(&self) -> Option<LengthSummary> {
        let mut tokens: Vec<u64> = self.prompts.iter().map(|prompt| prompt.tokens).collect();
        tokens.sort_unstable();
        let (min, max) = (*tokens.first()?, *tokens.last()?);
        let rank = |percent: usize| tokens[(tokens.len() * percent).div_ceil(100) - 1];
        let total = tokens.iter().fold(0_u64, |total, tokens| total.saturating_add(*tokens));
        Some(LengthSummary { prompts: tokens.len() as u64, total, min, p50: rank(50), p95: rank(95), max })
    }

    /// How many prompts do not fit into a context of this many tokens, including their answers.
    pub fn longer_than(&self, max_seq_len: u64) -> u64 {
        let is_longer = |prompt: &&Length| prompt.tokens.saturating_add(prompt.max_out_len) > max_seq_len;
        self.prompts.iter().filter(is_longer).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A percentile is the smallest length that enough lengths do not exceed.
        #[test]
        fn percentiles_are_nearest_ranks(lengths in prop::collection::vec((0..50_u64, 0..50_u64), 1..200), context in 0..100_u64) {
            let mut all = Lengths::default();
            lengths.iter().for_each(|&(tokens, max_out_len)| all.add(tokens, max_out_len));
            let summary = all.summary().expect("there is one");
            let below = |limit: u64| lengths.iter().filter(|(tokens, _)| *tokens <= limit).count();
            for (percent, value) in [(50, summary.p50), (95, summary.p95)] {
                prop_assert!(below(value) * 100 >= lengths.len() * percent);
                prop_assert!(value == 0 || below(value - 1) * 100 < lengths.len() * percent);
            }
            prop_assert_eq!(summary.total, lengths.iter().map(|(tokens, _)| tokens).sum::<u64>());
            let longer = lengths.iter().filter(|(tokens, max_out_len)| tokens + max_out_len > context).count();
            prop_assert_eq!(all.longer_than(context), longer as u64);
        }
    }
}
