//! Rejects the prompts that an engine's form cannot express.

use crate::error::{Error, ErrorKind, Result, Setting, way_out};
use crate::sink::{BuiltPrompt, PromptKey};

/// Rejects texts to score, choices among tokens, and images with token ids.
pub(crate) fn refuse_unless_plain(engine: &str, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<()> {
    if key.label.is_some() || key.is_normalizing || built.labels.is_some() {
        return Err(no_place_for_scores(engine));
    }
    refuse_choices_and_media(engine, built)
}

/// Rejects choices among tokens, and images with token ids.
pub(crate) fn refuse_choices_and_media(engine: &str, built: &BuiltPrompt<'_>) -> Result<()> {
    let what = if !built.choice_ids.is_empty() {
        CHOICE
    } else if built.prompt.has_media {
        "an image, audio or video with token ids"
    } else {
        return Ok(());
    };
    Err(no_place(&format!("{engine}'s form has"), what))
}

/// What a model chooses by its next token.
pub(crate) const CHOICE: &str = "a choice among tokens";

/// The error for what only token ids can be sent with.
pub(crate) fn no_place(form_has: &str, what: &str) -> Error {
    let way_out = way_out!["build with ", Setting::FORMAT.set_to("ids"), " and send it yourself"];
    ErrorKind::Usage(format!("{form_has} no place for {what}")).with_way_out(way_out)
}

/// The error for a text to score in a form of prompts to continue.
pub(crate) fn no_place_for_scores(engine: &str) -> Error {
    let [vllm, generate, sglang, ids] =
        ["vllm", "vllm-generate", "sglang", "ids"].map(|form| Setting::FORMAT.set_to(form));
    let way_out = way_out!["build with ", vllm, ", ", generate, " or ", sglang, " for these servers, or with ", ids];
    ErrorKind::Usage(format!("{engine}'s form has no place for a text to score")).with_way_out(way_out)
}
