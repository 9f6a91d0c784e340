//! What a builder is made of, as JSON: with it and the tokenizer's files, another process makes the same builder.

use std::path::Path;
use std::sync::Arc;

use metatok::dialect::{ChatTemplate, Model};
use metatok::error::{Error, ErrorKind, Result};
use metatok::{BuilderOptions, PromptBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a builder is made of, besides its tokenizer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Recipe {
    pub(crate) model: ModelSource,
    /// The variables of a chat template.
    #[serde(default)]
    pub(crate) template_kwargs: Option<Map<String, Value>>,
    /// As they were given: [`BuilderOptions`] does not write all of its keys.
    #[serde(default)]
    pub(crate) options: Value,
}

/// Where a model comes from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelSource {
    /// A built-in model, or a repository that belongs to one.
    BuiltIn(String),
    /// The text of a model file.
    File { name: String, text: String },
    /// A conversation template of FastChat's.
    Conversation(String),
    /// The Jinja of a chat template, and that for conversations with tools.
    ChatTemplate { name: String, source: String, tool_use: Option<String> },
}

impl ModelSource {
    /// A model by its name, or by the path of its file, which is read.
    pub(crate) fn load(name: &str) -> Result<Self> {
        let path = Path::new(name);
        let text = if path.is_file() { std::fs::read_to_string(path).ok() } else { None };
        match text {
            Some(text) => Ok(Self::File { name: name.to_owned(), text }),
            // Errors are those of a model that is loaded.
            None => Model::load(name).map(|_| Self::BuiltIn(name.to_owned())),
        }
    }

    /// A tokenizer's chat template, by the tokenizer's name.
    pub(crate) fn of_tokenizer(tokenizer: &str) -> Result<Self> {
        let template = ChatTemplate::of_tokenizer(tokenizer)?.ok_or_else(|| no_chat_template(tokenizer))?;
        Ok(Self::of_template(template))
    }

    /// One of a tokenizer's chat templates, a file, or the text itself.
    pub(crate) fn of_chat_template(template: &str, tokenizer: &str) -> Result<Self> {
        let is_text = template.contains(['{', '\n']);
        match is_text {
            true => Ok(Self::ChatTemplate { name: "chat_template".into(), source: template.into(), tool_use: None }),
            false => ChatTemplate::load(template, tokenizer).map(Self::of_template),
        }
    }

    /// A chat template, with the Jinja for conversations with tools, if that is given.
    pub(crate) fn with_tool_use(self, given: Option<String>) -> Self {
        match self {
            Self::ChatTemplate { name, source, tool_use } => {
                Self::ChatTemplate { name, source, tool_use: given.or(tool_use) }
            }
            other => other,
        }
    }

    fn of_template(ChatTemplate { name, source, tool_use, .. }: ChatTemplate) -> Self {
        Self::ChatTemplate { name, source, tool_use }
    }

    /// The model, which may need the tokenizer that it is for.
    pub(crate) fn model(&self, tokenizer: Option<&metatok::Tokenizer>) -> Result<Model> {
        match self {
            Self::BuiltIn(name) => Model::find_builtin(name),
            Self::File { name, text } => Model::parse(name, text.as_bytes()),
            Self::Conversation(name) => Model::of_conversation_template(name),
            Self::ChatTemplate { name, source, tool_use } => {
                let mut template = match tokenizer {
                    Some(tokenizer) => ChatTemplate::for_tokenizer(name, source, tokenizer)?,
                    None => ChatTemplate::new(name, source),
                };
                template.tool_use.clone_from(tool_use);
                Ok(template.into())
            }
        }
    }
}

fn no_chat_template(tokenizer: &str) -> Error {
    let what = format!("{tokenizer} has no chat template, so it is unknown how its model wants messages");
    ErrorKind::Usage(what)
        .with_way_out("name the model whose template is used, such as PromptBuilder(\"qwen3\"), or give chat_template")
}

impl Recipe {
    /// The model, with the variables of its chat template.
    pub(crate) fn model(&self, tokenizer: &metatok::Tokenizer) -> Result<Model> {
        let mut model = self.model.model(Some(tokenizer))?;
        if let Some(kwargs) = &self.template_kwargs {
            let template = model.chat_template.as_mut().ok_or_else(|| {
                let what = "template_kwargs are variables of a chat template, but a meta template is used";
                ErrorKind::Usage(what.into())
                    .with_way_out("leave out the model to use the tokenizer's chat template, or give chat_template")
            })?;
            template.kwargs.clone_from(kwargs);
        }
        Ok(model)
    }

    /// The options.
    pub(crate) fn options(&self) -> Result<BuilderOptions> {
        if self.options.is_null() {
            return Ok(BuilderOptions::default());
        }
        BuilderOptions::deserialize(&self.options).map_err(|error| ErrorKind::Usage(format!("options: {error}")).into())
    }

    /// What builds.
    pub(crate) fn builder(&self, tokenizer: &Arc<metatok::Tokenizer>) -> Result<(Model, PromptBuilder)> {
        let model = self.model(tokenizer)?;
        let builder = PromptBuilder::new(&model, Arc::clone(tokenizer), &self.options()?)?;
        Ok((model, builder))
    }
}
