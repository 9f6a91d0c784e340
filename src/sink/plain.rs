//! What the forms of engines have no place for.

use crate::error::{ErrorKind, Result, Setting, way_out};
use crate::sink::{BuiltPrompt, PromptKey};

/// Refuses what is no prompt to continue by any tokens, and images beside token ids.
pub(crate) fn refuse_unless_plain(engine: &str, key: &PromptKey<'_>, built: &BuiltPrompt<'_>) -> Result<()> {
    let what = if key.label.is_some() || key.is_normalizing || built.labels.is_some() {
        "a text to score"
    } else if !built.choice_ids.is_empty() {
        "a choice among tokens"
    } else if !built.prompt.media.is_empty() {
        "an image, audio or video beside token ids"
    } else {
        return Ok(());
    };
    let way_out = way_out!["build with ", Setting::FORMAT.set_to("ids"), " and send it yourself"];
    Err(ErrorKind::Usage(format!("{engine}'s form has no place for {what}")).with_way_out(way_out))
}
