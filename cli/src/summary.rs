//! The summary that a command prints at its end.

use metatok::error::counted;

/// A rate is only printed if there are enough prompts that loading the tokenizer does not dominate it.
pub(crate) fn summary(prompts: u64, tokens: Option<u64>, seconds: f64) -> String {
    let rate = match prompts {
        10_000.. => format!(" ({:.0} prompts/s)", prompts as f64 / seconds),
        _ => String::new(),
    };
    let tokens = tokens.map_or_else(String::new, |tokens| format!("{}, ", counted(tokens, "token")));
    format!("{}, {tokens}{seconds:.2} s{rate}", counted(prompts, "prompt"))
}
