//! What files of prompts have in common: what they say beside the prompts.

use serde::Serialize;

use crate::builder::PromptBuilder;
use crate::error::ErrorKind;
use crate::fingerprint::Fingerprint;
use crate::sink::Accepts;
use crate::tokenizer::TokenId;

/// What such files have a place for: no columns.
pub(super) const FILE: Accepts = Accepts { columns: false, ..Accepts::LINE };

/// The name under which a file says what stands beside its prompts.
pub(super) const METADATA: &str = "metatok";

/// Where prompts stop, and what built them, which is the same for all of a file.
#[derive(Debug, Serialize)]
pub(super) struct Origin {
    stop_token_ids: Vec<TokenId>,
    stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
}

impl Origin {
    pub(super) fn new(builder: &PromptBuilder, fingerprint: Option<Fingerprint>) -> Self {
        let stop = builder.stop();
        Self { stop_token_ids: stop.stop_token_ids().collect(), stop: stop.strings().to_vec(), fingerprint }
    }
}

/// A file has nothing under [`METADATA`].
pub(super) fn not_ours() -> ErrorKind {
    ErrorKind::Parse("it was not written by metatok: it says nothing of its prompts".into())
}
