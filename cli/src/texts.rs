//! Plain texts as token ids, without any template: what `encode` and `count` share.

use std::sync::Arc;

use crate::args::{TextArgs, TokenizerArgs};
use metatok::builder::{BuilderOptions, PromptBuilder};
use metatok::conversation::{Conversation, Mode};
use metatok::dialect::{Model, load_tokenizer};
use metatok::error::{ErrorKind, Result};
use metatok::tokenizer::{AddSpecialTokens, TokenId, Tokenizer};

/// Encodes texts.
pub(crate) struct Texts {
    builder: PromptBuilder,
    adds_special_tokens: bool,
}

impl Texts {
    /// With the tokenizer and the options from the arguments.
    pub(crate) fn new(tokenizer: &TokenizerArgs, args: &TextArgs) -> Result<Self> {
        let options = BuilderOptions {
            // What the tokenizer adds after a text belongs to a whole text, not to one that continues.
            mode: Mode::Score,
            content: args.content,
            special_tokens: Some(args.special_tokens),
            ..BuilderOptions::default()
        };
        let builder = PromptBuilder::new(&Model::default(), load(tokenizer)?, &options)?;
        Ok(Self { builder, adds_special_tokens: args.special_tokens != AddSpecialTokens::Never })
    }

    /// The ids of a text.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        if text.is_empty() && !self.adds_special_tokens {
            return Ok(Vec::new());
        }
        Ok(self.builder.build(&Conversation::Text(text.to_owned()))?.input_ids)
    }
}

/// The given tokenizer, or the model's.
pub(crate) fn load(args: &TokenizerArgs) -> Result<Arc<Tokenizer>> {
    let model = args.model.as_deref().map_or_else(|| Ok(Model::default()), Model::load)?;
    args.tokenizer.as_deref().map_or_else(|| model.load_tokenizer(), load_tokenizer).map(Arc::new)
}

/// Bytes as UTF-8 text.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| ErrorKind::NotUtf8(error.utf8_error().valid_up_to()).into())
}
