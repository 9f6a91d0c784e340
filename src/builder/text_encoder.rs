//! Plain texts as token ids, without any template.

use std::sync::Arc;

use crate::assemble::ContentTrust;
use crate::builder::{BuilderOptions, PromptBuilder};
use crate::conversation::{Conversation, Mode};
use crate::dialect::Model;
use crate::error::Result;
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
    adds_special_tokens: bool,
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
        let builder = PromptBuilder::new(&Model::default(), tokenizer, &options)?;
        Ok(Self { builder, adds_special_tokens: special_tokens != AddSpecialTokens::Never })
    }

    /// The ids of a text, none if it is empty and nothing is added.
    ///
    /// # Errors
    /// The same as for [`PromptBuilder::build`].
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>> {
        if text.is_empty() && !self.adds_special_tokens {
            return Ok(Vec::new());
        }
        Ok(self.builder.build(&Conversation::Text(text.to_owned()))?.input_ids)
    }
}
