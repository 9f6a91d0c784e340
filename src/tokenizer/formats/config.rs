//! What `tokenizer_config.json` says of how a vocabulary is used.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Its keys, without those of special tokens.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Config {
    tokenizer_class: Option<String>,
    pub(super) add_bos_token: Option<bool>,
    pub(super) add_eos_token: Option<bool>,
    pub(super) add_prefix_space: Option<bool>,
    pub(super) legacy: Option<bool>,
    #[serde(default)]
    added_tokens_decoder: Map<String, Value>,
}

impl Config {
    pub(super) fn class(&self) -> Option<&str> {
        self.tokenizer_class.as_deref()
    }

    /// The content of the added token with this id.
    pub(super) fn added(&self, id: usize) -> Option<&str> {
        self.added_tokens_decoder.get(&id.to_string())?["content"].as_str()
    }

    /// The id of an added token.
    pub(super) fn added_id(&self, content: &str) -> Option<usize> {
        let is_it = |(_, token): &(&String, &Value)| token["content"] == content;
        self.added_tokens_decoder.iter().find(is_it)?.0.parse().ok()
    }
}
