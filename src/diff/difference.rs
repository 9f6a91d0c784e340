//! The first difference of two prompts.

use serde::Serialize;

use crate::builder::PromptBuilder;
use crate::common_prefix::common_prefix;
use crate::diff::cause::Cause;
use crate::diff::pair::{Pair, Prompts};
use crate::error::{Result, Setting};
use crate::tokenizer::TokenId;

/// How many tokens are shown before and after the first difference.
const SHOWN: usize = 6;

/// Where two prompts of a conversation begin to differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptDifference {
    /// Why.
    pub cause: Cause,
    /// How many tokens are the same before it.
    pub at: usize,
    /// The tokens before it that both have, the last few.
    pub before: Vec<String>,
    /// How the first one goes on, or why it refuses the conversation.
    pub ours: Vec<String>,
    /// How the second one goes on, likewise.
    pub theirs: Vec<String>,
}

impl PromptDifference {
    pub(super) fn new(pair: &Pair, prompts: &Prompts, cause: Cause, setting_name: fn(&Setting) -> String) -> Self {
        let [our_ids, their_ids] = prompts;
        let at = match prompts {
            [Ok(ours), Ok(theirs)] => common_prefix(ours, theirs),
            _ => 0,
        };
        let tokens = |builder: &PromptBuilder, ids: &[TokenId]| -> Vec<String> {
            ids.iter().map(|id| builder.tokenizer().display_token(*id)).collect()
        };
        let after = |builder: &PromptBuilder, ids: &Result<Vec<TokenId>>| match ids {
            Ok(ids) => tokens(builder, &ids[at..ids.len().min(at + SHOWN)]),
            Err(error) => vec![error.display_with(&setting_name).to_string()],
        };
        let before = our_ids.as_ref().map_or(Vec::new(), |ids| tokens(&pair.ours, &ids[at.saturating_sub(SHOWN)..at]));
        Self { cause, at, before, ours: after(&pair.ours, our_ids), theirs: after(&pair.theirs, their_ids) }
    }
}
