//! What a person chooses to build with: a model, or a template in place of its own, and a tokenizer.

use std::path::Path;

use serde_json::{Map, Value};

use crate::conversation::check_variables;
use crate::dialect::{ChatTemplate, Model, load_tokenizer, tokenizer_name};
use crate::error::{At, Error, ErrorKind, Result, Setting, way_out};
use crate::tokenizer::Tokenizer;

/// A choice of a model and a tokenizer, as the command line and the Python package offer it.
///
/// A conversation template or a chat template replaces the model's own. A tokenizer alone brings its chat template.
///
/// ```
/// use metatok::dialect::ModelChoice;
///
/// let choice = ModelChoice { tokenizer: Some("demo"), conversation_template: Some("vicuna_v1.1"), ..ModelChoice::default() };
/// let (model, tokenizer) = choice.load()?;
/// assert_eq!((model.name.as_str(), tokenizer.name()), ("vicuna_v1.1", "demo"));
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ModelChoice<'a> {
    /// The model.
    pub model: Option<Model>,
    /// The name of a tokenizer, for [`load_tokenizer`], in place of the model's own.
    pub tokenizer: Option<&'a str>,
    /// The name of a conversation template, see [`Model::of_conversation_template`].
    pub conversation_template: Option<&'a str>,
    /// The name of a chat template, see [`ChatTemplate::load`], or its Jinja.
    pub chat_template: Option<&'a str>,
    /// Variables of the chat template.
    pub template_kwargs: Option<&'a Map<String, Value>>,
}

impl ModelChoice<'_> {
    /// Loads what is chosen.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a choice without a template or without a tokenizer, and for variables of a template that
    /// has none; otherwise as for loading either.
    pub fn load(&self) -> Result<(Model, Tokenizer)> {
        if let (Some(model), None, None) = (&self.model, self.conversation_template, self.chat_template) {
            model.check_gives_ids()?;
        }
        let tokenizer = self.tokenizer_name()?;
        // Where no tokenizer is, there is no chat template either.
        let model = self.model(&tokenizer).or_else(|error| load_tokenizer(&tokenizer).and(Err(error)))?;
        self.load_with(model)
    }

    /// Loads what is chosen to read answers, which need a tokenizer and its stops, but no template.
    ///
    /// # Errors
    /// The same as for [`Self::load`], but a tokenizer alone needs no chat template.
    pub fn load_for_answers(&self) -> Result<(Model, Tokenizer)> {
        let Self { model: None, tokenizer: Some(tokenizer), conversation_template: None, chat_template: None, .. } =
            self
        else {
            return self.load();
        };
        match self.template_kwargs {
            Some(_) => self.load(),
            None => {
                let template = ChatTemplate::of_tokenizer(tokenizer)?;
                self.load_with(template.map_or_else(Model::default, Model::from))
            }
        }
    }

    /// The model for a tokenizer that is loaded already.
    ///
    /// # Errors
    /// The same as for [`Self::load`].
    pub fn model_for(&self, tokenizer: &Tokenizer) -> Result<Model> {
        self.model(self.tokenizer.unwrap_or_else(|| tokenizer.name()))?.with_special_tokens_of(tokenizer)
    }

    /// Where the tokenizer is, for [`Tokenizer::load`].
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if neither it nor a model that names one is chosen.
    pub fn tokenizer_name(&self) -> Result<String> {
        match (self.tokenizer, &self.model) {
            (Some(tokenizer), _) => tokenizer_name(tokenizer),
            (None, Some(model)) => model.tokenizer_name(),
            (None, None) if self.conversation_template.is_some() => Err(no_tokenizer("conversation")),
            (None, None) if self.chat_template.is_some() => Err(no_tokenizer("chat")),
            (None, None) => Err(nothing_chosen()),
        }
    }

    fn load_with(&self, model: Model) -> Result<(Model, Tokenizer)> {
        let tokenizer = match (self.tokenizer, &self.model) {
            (Some(name), _) => load_tokenizer(name)?,
            (None, Some(model)) => model.load_tokenizer()?,
            (None, None) => return Err(nothing_chosen()),
        };
        Ok((model.with_special_tokens_of(&tokenizer)?, tokenizer))
    }

    /// The model. It is read before the tokenizer with this name is loaded, so that a wrong template fails first.
    fn model(&self, tokenizer: &str) -> Result<Model> {
        let mut model = match (self.conversation_template, self.chat_template, &self.model) {
            (Some(name), ..) => Model::of_conversation_template(name)?,
            (None, Some(template), _) => match template.contains(['{', '\n']) && !Path::new(template).is_file() {
                true => ChatTemplate::new("chat_template", template).into(),
                false => ChatTemplate::load(template, tokenizer)?.into(),
            },
            (None, None, Some(model)) => model.clone(),
            (None, None, None) => {
                let template = ChatTemplate::of_tokenizer(tokenizer)?;
                template.ok_or_else(|| no_chat_template(self.tokenizer.unwrap_or(tokenizer)))?.into()
            }
        };
        if let Some(kwargs) = self.template_kwargs {
            let template = model.chat_template.as_mut().ok_or_else(no_variables).at(Setting::TEMPLATE_KWARGS)?;
            check_variables(kwargs).at(Setting::TEMPLATE_KWARGS)?;
            template.kwargs.clone_from(kwargs);
        }
        Ok(model)
    }
}

impl Model {
    /// With a tokenizer's special tokens for a chat template that names them.
    fn with_special_tokens_of(self, tokenizer: &Tokenizer) -> Result<Self> {
        let with = |template: ChatTemplate| template.with_special_tokens_of(tokenizer);
        Ok(Self { chat_template: self.chat_template.map(with).transpose()?, ..self })
    }
}

fn no_tokenizer(kind: &str) -> Error {
    ErrorKind::Usage(format!("a {kind} template does not name a tokenizer")).with_way_out(way_out![
        "choose one with ",
        Setting::TOKENIZER,
        ", such as a folder or a repository of the hub"
    ])
}

fn nothing_chosen() -> Error {
    ErrorKind::Usage("nothing says how prompts are written".into()).with_way_out(way_out![
        "choose a model with ",
        Setting::MODEL,
        " (`metatok models` lists the built-in ones), or a tokenizer with a chat template with ",
        Setting::TOKENIZER,
        "; ",
        Setting::MODEL.set_to("demo"),
        " is for trying things"
    ])
}

fn no_chat_template(tokenizer: &str) -> Error {
    let what = format!("{tokenizer} has no chat template, so it is unknown how its model wants messages");
    ErrorKind::Usage(what).with_way_out(way_out![
        "choose the model whose template is used with ",
        Setting::MODEL,
        " (`metatok models` lists the built-in ones), or a template with ",
        Setting::CHAT_TEMPLATE
    ])
}

fn no_variables() -> Error {
    let what = "these are variables of a chat template, but none is used";
    ErrorKind::Usage(what.into()).with_way_out(way_out![
        "leave out ",
        Setting::MODEL,
        " to use the tokenizer's chat template, or choose one with ",
        Setting::CHAT_TEMPLATE
    ])
}
