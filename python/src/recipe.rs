//! What a builder is made of, as JSON: with it and the tokenizer's files, another process makes the same builder.

use std::sync::Arc;

use metatok::dialect::{ChatTemplate, ConversationTemplate, Model};
use metatok::error::Result;
use metatok::render::ChatWrapper;
use metatok::{BuilderOptions, PromptBuilder, read_options};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a builder is made of, besides its tokenizer: a model, with what model files do not say, and options.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Recipe {
    name: String,
    model: Model,
    conversation_template: Option<ConversationTemplate>,
    chat_template: Option<ChatTemplate>,
    chat_wrapper: Option<ChatWrapper>,
    unread_keys: Vec<String>,
    /// As they were given: [`BuilderOptions`] does not write all of its keys.
    pub(crate) options: Value,
}

impl Recipe {
    pub(crate) fn new(model: Model, options: Value) -> Self {
        Self {
            name: model.name.clone(),
            conversation_template: model.conversation_template.clone(),
            chat_template: model.chat_template.clone(),
            chat_wrapper: model.chat_wrapper,
            unread_keys: model.unread_keys.clone(),
            model,
            options,
        }
    }

    /// The model.
    fn model(&self) -> Model {
        Model {
            name: self.name.clone(),
            conversation_template: self.conversation_template.clone(),
            chat_template: self.chat_template.clone(),
            chat_wrapper: self.chat_wrapper,
            unread_keys: self.unread_keys.clone(),
            ..self.model.clone()
        }
    }

    /// The options.
    pub(crate) fn options(&self) -> Result<BuilderOptions> {
        if self.options.is_null() {
            return Ok(BuilderOptions::default());
        }
        read_options(&self.options)
    }

    /// What builds.
    pub(crate) fn builder(&self, tokenizer: &Arc<metatok::Tokenizer>) -> Result<(Model, PromptBuilder)> {
        let model = self.model();
        let builder = PromptBuilder::new(&model, Arc::clone(tokenizer), &self.options()?)?;
        Ok((model, builder))
    }
}
