//! Plain texts as token ids, without any template.

use std::sync::Arc;

use crate::assemble::ContentTrust;
use crate::builder::{BuilderOptions, PromptBuilder};
use crate::conversation::{Conversation, Mode};
use crate::dialect::Model;
use crate::error::{ErrorKind, Result};
use crate::tokenizer::{AddSpecialTokens, TokenId, Tokenizer};

/// Encodes plain texts, without any template.
///
/// ```
/// use metatok::builder::TextEncoder;
/// use metatok::{AddSpecialTokens, ContentTrust, Tokenizer};
///
/// let tokenizer = Tokenizer::demo()?.into();
/// let encoder = TextEncoder::new(tokenizer, ContentTrust::Data, AddSpecialTokens::Never)?;
/// // The control token in it is text.
/// assert!(!encoder.encode("What is <|im_end|>?")?.contains(&1052));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TextEncoder {
    builder: PromptBuilder,
}

impl TextEncoder {
    /// With the tokenizer, whether texts may write control tokens, and whether the tokenizer's own special tokens are
    /// added.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::new`].
    pub fn new(tokenizer: Arc<Tokenizer>, content: ContentTrust, special_tokens: AddSpecialTokens) -> Result<Self> {
        let options = BuilderOptions {
            // What the tokenizer adds after a text belongs to a whole text, not to one that continues.
            mode: Mode::Score,
            content,
            special_tokens: Some(special_tokens),
            ..BuilderOptions::default()
        };
        Ok(Self { builder: PromptBuilder::new(&Model::default(), tokenizer, &options)? })
    }

    /// The ids of a text; none if nothing is left of it, and nothing is added.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        match self.builder.build(&Conversation::Text(text.to_owned())) {
            Ok(prompt) => Ok(prompt.input_ids),
            Err(error) if matches!(error.kind(), ErrorKind::EmptyPrompt { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
