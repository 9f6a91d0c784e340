//! The special tokens that `tokenizer_config.json` and `special_tokens_map.json` name, as transformers reads them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::AddedToken;

/// The names that every tokenizer of transformers may have.
const NAMES: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// A model's own special tokens: a list of them, or an object with a name for each.
const OWN_TOKENS: [&str; 3] = ["additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"];

/// Where transformers saves added tokens with their ids, in `tokenizer_config.json`.
pub(crate) const ADDED_TOKENS_DECODER: &str = "added_tokens_decoder";

/// Special tokens, whose ids other files say.
#[derive(Debug, Default)]
pub(crate) struct NamedTokens {
    /// By names such as `eos_token`.
    by_name: BTreeMap<String, AddedToken>,
    /// The tokens of lists, each with the key of its list.
    unnamed: Vec<(String, AddedToken)>,
}

impl NamedTokens {
    /// Those of `tokenizer_config.json` and `special_tokens_map.json`.
    pub(crate) fn of(config: &Map<String, Value>, map: &Map<String, Value>) -> Self {
        let mut tokens = Self::default();
        tokens.add(config);
        // transformers reads the second file only if the first was written before version 4.34.
        if !config.contains_key(ADDED_TOKENS_DECODER) {
            tokens.add(map);
        }
        tokens
    }

    fn add(&mut self, file: &Map<String, Value>) {
        for key in OWN_TOKENS {
            match file.get(key) {
                Some(Value::Object(own)) => self.add_named(own.iter()),
                Some(Value::Array(own)) => {
                    self.unnamed.extend(own.iter().filter_map(|token| Some((key.to_owned(), special(token)?))));
                }
                _ => {}
            }
        }
        self.add_named(file.iter().filter(|(key, _)| key.ends_with("_token")));
    }

    fn add_named<'t>(&mut self, tokens: impl Iterator<Item = (&'t String, &'t Value)>) {
        self.by_name.extend(tokens.filter_map(|(name, token)| Some((name.clone(), special(token)?))));
    }

    /// The content of the one with this name.
    pub(crate) fn content(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(|token| &*token.content)
    }

    /// The contents of those with names.
    pub(crate) fn into_contents(self) -> BTreeMap<String, String> {
        self.by_name.into_iter().map(|(name, token)| (name, token.content)).collect()
    }

    /// All of them, with a name or the key of a list.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &AddedToken)> {
        let unnamed = self.unnamed.iter().map(|(key, token)| (key, token));
        self.by_name.iter().chain(unnamed).map(|(key, token)| (&**key, token))
    }

    /// Rejects a file in which something that is no token has the name of one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the name.
    pub(crate) fn check(file: &Map<String, Value>) -> Result<()> {
        let is_wrong = |name: &&str| file.get(*name).is_some_and(|token| !token.is_null() && special(token).is_none());
        match NAMES.into_iter().find(is_wrong) {
            None => Ok(()),
            Some(name) => {
                let what = "expected a token as a string, or as an object with the key \"content\"";
                Err(ErrorKind::Invalid(what.into())).at(name)
            }
        }
    }
}

/// A token: a string, or an object as in `added_tokens_decoder`.
fn special(token: &Value) -> Option<AddedToken> {
    let token = match token {
        Value::String(content) => AddedToken { content: content.clone(), ..AddedToken::default() },
        token => AddedToken::deserialize(token).ok()?,
    };
    Some(AddedToken { special: true, ..token })
}
