//! The summary that a command prints at its end.

use crate::output::count;

/// A rate is only printed if there are enough prompts that loading the tokenizer does not dominate it.
pub(crate) fn summary(prompts: u64, tokens: Option<u64>, seconds: f64) -> String {
    let rate = match prompts {
        10_000.. => format!(" ({:.0} prompts/s)", prompts as f64 / seconds),
        _ => String::new(),
    };
    let tokens = tokens.map_or_else(String::new, |tokens| format!("{}, ", count(tokens, "token")));
    format!("{}, {tokens}{seconds:.2} s{rate}", count(prompts, "prompt"))
}

/// Reports how many conversations had their last message left out.
pub(crate) fn answers_omitted(conversations: u64) -> String {
    let (end, one) = if conversations == 1 { ("ends", "which is") } else { ("end", "each of which is") };
    format!(
        "{} {end} with an answer, {one} left out because the model generates it; --continue-final-message lets the model continue it, --mode ppl scores it",
        count(conversations, "conversation")
    )
}
