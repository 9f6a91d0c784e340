//! The keys of a request that say how its answer is sampled.

use crate::dataset::records::Keys;

const SAMPLING: [&str; 28] = [
    "bad_words",
    "best_of",
    "frequency_penalty",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "ignore_eos",
    "include_stop_str_in_output",
    "length_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "min_p",
    "min_tokens",
    "n",
    "presence_penalty",
    "repetition_penalty",
    "response_format",
    "seed",
    "stop",
    "stop_token_ids",
    "structured_outputs",
    "temperature",
    "top_k",
    "top_p",
    "truncate_prompt_tokens",
];

/// Those that a request has, and which of these other keys.
pub(super) fn sampling_keys(request: &Keys<'_>, others: &[&'static str]) -> Vec<&'static str> {
    request.given(&[&SAMPLING, others].concat())
}
