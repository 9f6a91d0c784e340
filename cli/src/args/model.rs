//! Which model and tokenizer.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use clap::ValueHint;
use clap::builder::{NonEmptyStringValueParser, TypedValueParser};
use serde_json::{Map, Value};

use crate::args::{complete, heading};
use metatok::dialect::Model;
use metatok::error::Result;

/// Which template, and which tokenizer.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = heading::MODEL)]
pub(crate) struct ModelArgs {
    /// Built-in model, model file, or repository
    ///
    /// `metatok models` lists the built-in models. A model file is TOML or JSON, and may come through a pipe. A repository of the
    /// Hugging Face Hub works if a built-in model claims it, such as Qwen/Qwen3-8B. Without this option, metatok uses the chat
    /// template of --tokenizer. Without any of the options of this section, a command without any input uses the demo.
    #[arg(short, long, value_name = "FILE|NAME|REPO", value_parser = NonEmptyStringValueParser::new().map(ModelName::new), add = complete::models())]
    pub(crate) model: Option<ModelName>,

    /// Tokenizer, if not the model's own
    ///
    /// A directory, a file (tokenizer.json, tokenizer.model, tekken.json, tiktoken's or GGUF), a built-in model, or a repository
    /// of the Hugging Face Hub (org/name or org/name@revision).
    #[arg(short, long, value_name = "DIR|FILE|REPO", value_parser = NonEmptyStringValueParser::new(), add = complete::models())]
    pub(crate) tokenizer: Option<String>,

    /// Chat template instead of the model's
    ///
    /// A Jinja file, or the name of one of the tokenizer's chat templates. Only the tokenizer of --model is then used. Without
    /// this option and --model, metatok uses the tokenizer's default chat template.
    #[arg(long, value_name = "FILE|NAME", value_hint = ValueHint::FilePath, conflicts_with = "conversation", hide_short_help = true)]
    pub(crate) chat_template: Option<String>,

    /// Variables of the chat template, as a JSON object
    ///
    /// For example {"enable_thinking": false}. A record's own chat_template_kwargs take precedence.
    #[arg(long, value_name = "JSON", visible_alias = "chat-template-kwargs", value_parser = object, hide_short_help = true)]
    pub(crate) template_kwargs: Option<Map<String, Value>>,

    /// FastChat template instead of the model's
    ///
    /// A FastChat or UltraFeedback template, either a file or a built-in one (`metatok models` lists them). Only the tokenizer
    /// of --model is then used.
    #[arg(long, value_name = "FILE|NAME", add = complete::conversations())]
    pub(crate) conversation: Option<String>,
}

/// The name of a model. The model is read only once, because a pipe cannot be read again.
#[derive(Clone)]
pub(crate) struct ModelName {
    name: String,
    model: Arc<OnceLock<Model>>,
}

impl ModelName {
    fn new(name: String) -> Self {
        Self { name, model: Arc::default() }
    }

    /// The model with this name.
    pub(crate) fn load(&self) -> Result<Model> {
        if let Some(model) = self.model.get() {
            return Ok(model.clone());
        }
        let model = Model::load(&self.name)?;
        Ok(self.model.get_or_init(|| model).clone())
    }
}

impl Deref for ModelName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl ModelArgs {
    /// Whether any of it is given. If nothing is, and there is no input either, a command uses the demo.
    pub(crate) fn is_given(&self) -> bool {
        let Self { model, tokenizer, chat_template, template_kwargs, conversation } = self;
        let others = [tokenizer, chat_template, conversation];
        model.is_some() || others.into_iter().any(Option::is_some) || template_kwargs.is_some()
    }

    /// Whether it gives nothing but the demo's name, if that.
    pub(crate) fn is_demo(&self) -> bool {
        let Self { model, tokenizer, chat_template, template_kwargs, conversation } = self;
        let is_demo = |name: Option<&str>| name.is_none_or(|name| name == "demo");
        let has_template = chat_template.is_some() || template_kwargs.is_some() || conversation.is_some();
        is_demo(model.as_deref()) && is_demo(tokenizer.as_deref()) && !has_template
    }
}

/// A JSON object.
fn object(json: &str) -> std::result::Result<Map<String, Value>, String> {
    serde_json::from_str(json).map_err(|error| format!("not a JSON object: {error}"))
}
