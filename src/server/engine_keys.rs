//! An engine's names for the parameters of a request, and the values that have no effect.

/// An engine's names for the parameters of a request, and the values that have no effect.
#[derive(Debug)]
pub(super) struct EngineKeys {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// The key of the limit on new tokens.
    pub(super) max_tokens: &'static str,
    /// The key of the seed, and the largest one. Some have none.
    pub(super) seed: Option<(&'static str, u64)>,
    /// The `top_k` that allows all tokens.
    pub(super) all_tokens: i64,
    /// The `top_k` at temperature 0.
    pub(super) greedy_top_k: i64,
    /// Its other samplers and penalties, switched off.
    pub(super) off: &'static [(&'static str, &'static str)],
    /// The keys of the id and the prompt.
    pub(super) prompt_keys: &'static [&'static str],
    /// Whether a request names the model.
    pub(super) needs_model: bool,
    /// The keys of the request itself, if all others are keys of an object in it.
    pub(super) request_keys: Option<&'static [&'static str]>,
    /// The smallest limit on new tokens with a text to score. None if it scores no texts.
    pub(super) scored_max_tokens: Option<u64>,
}

/// vLLM's penalties and `min_p`, which other servers have too.
pub(super) const PENALTIES: &[(&str, &str)] =
    &[("min_p", "0"), ("presence_penalty", "0"), ("frequency_penalty", "0"), ("repetition_penalty", "1")];
