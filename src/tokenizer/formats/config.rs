//! The keys of `tokenizer_config.json` that say how a vocabulary is used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
pub(super) struct TokenizerConfig {
    tokenizer_class: Option<String>,
    pub(super) add_bos_token: Option<bool>,
    pub(super) add_eos_token: Option<bool>,
    pub(super) add_prefix_space: Option<bool>,
    pub(super) legacy: Option<bool>,
    #[serde(default)]
    added_tokens_decoder: BTreeMap<String, Value>,
}

impl TokenizerConfig {
    /// The class of the tokenizer in transformers, the same for its slow and its fast one.
    pub(super) fn class(&self) -> Option<&str> {
        self.tokenizer_class.as_deref().map(|name| name.strip_suffix("Fast").unwrap_or(name))
    }

    /// The content of the added token with this id.
    pub(super) fn added_token(&self, id: usize) -> Option<&str> {
        self.added_tokens().find(|(added, _)| *added == id).map(|(_, content)| content)
    }

    /// The id of an added token.
    pub(super) fn added_token_id(&self, content: &str) -> Option<usize> {
        self.added_tokens().find(|(_, added)| *added == content).map(|(id, _)| id)
    }

    fn added_tokens(&self) -> impl Iterator<Item = (usize, &str)> {
        let tokens = self.added_tokens_decoder.iter();
        tokens.filter_map(|(id, token)| Some((id.parse().ok()?, token["content"].as_str()?)))
    }
}
