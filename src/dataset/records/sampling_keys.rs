//! The keys of a request that say how its answer is sampled.

use crate::dataset::records::Keys;

const SAMPLING: [&str; 13] = [
    "frequency_penalty",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "min_p",
    "n",
    "presence_penalty",
    "repetition_penalty",
    "seed",
    "stop",
    "temperature",
    "top_k",
    "top_p",
];

/// Those that a request has.
pub(super) fn sampling_keys(request: &Keys<'_>) -> Vec<&'static str> {
    request.given(&SAMPLING)
}
