//! Where the prompts of a file come from, in its metadata: their stops and their fingerprint.

use serde::Serialize;

use crate::builder::PromptBuilder;
use crate::error::ErrorKind;
use crate::fingerprint::Fingerprint;
use crate::tokenizer::TokenId;

/// The key of the metadata in a file.
pub(super) const METADATA: &str = "metatok";

/// The stops of prompts and their fingerprint, which are the same for all prompts of a file.
#[derive(Debug, Serialize)]
pub(super) struct FileOrigin {
    stop_token_ids: Vec<TokenId>,
    stop: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
}

impl FileOrigin {
    pub(super) fn new(builder: &PromptBuilder, fingerprint: Option<Fingerprint>) -> Self {
        let stop = builder.stop();
        Self { stop_token_ids: stop.stop_token_ids().collect(), stop: stop.strings().to_vec(), fingerprint }
    }
}

/// The error for a file without [`METADATA`].
pub(super) fn not_ours() -> ErrorKind {
    ErrorKind::Parse("it was not written by metatok: it has no metadata of its prompts".into())
}
