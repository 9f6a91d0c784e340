//! What `encode`, `decode` and `count` share: a tokenizer, and texts.

use std::sync::Arc;

use crate::args::{TextArgs, TokenizerArgs};
use metatok::builder::TextEncoder;
use metatok::dialect::{Model, load_tokenizer};
use metatok::error::{ErrorKind, Result};
use metatok::tokenizer::Tokenizer;

/// Encodes texts with the tokenizer and the options from the arguments.
pub(crate) fn encoder(tokenizer: &TokenizerArgs, args: &TextArgs) -> Result<TextEncoder> {
    TextEncoder::new(load(tokenizer)?, args.content, args.special_tokens)
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
