//! What an engine calls the things that decide an answer.

/// An engine's own words, and the values with which it changes nothing.
#[derive(Debug)]
pub(super) struct Engine {
    /// What it is called in messages.
    pub(super) name: &'static str,
    /// The key of the limit on new tokens.
    pub(super) max_tokens: &'static str,
    /// The key of the seed, and the largest one. Some have none.
    pub(super) seed: Option<(&'static str, u64)>,
    /// `top_k` of all tokens.
    pub(super) all_tokens: i64,
    /// `top_k` beside temperature 0.
    pub(super) greedy_top_k: i64,
    /// Its further samplers and penalties, switched off.
    pub(super) off: &'static [(&'static str, &'static str)],
    /// The keys of the id and the prompt.
    pub(super) prompt_keys: &'static [&'static str],
    /// Whether a request names the model.
    pub(super) needs_model: bool,
    /// The fewest tokens that can be asked for beside a text to score. None if it scores no texts.
    pub(super) scored_max_tokens: Option<u64>,
}

/// What vLLM's API has, and those that follow it.
pub(super) const PENALTIES: &[(&str, &str)] =
    &[("min_p", "0"), ("presence_penalty", "0"), ("frequency_penalty", "0"), ("repetition_penalty", "1")];
