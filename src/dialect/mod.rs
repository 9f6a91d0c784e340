//! Models as files: the dialects in which a template can be written, and the built-in ones.
//!
//! A dialect is a function that recognizes its files and reads them; a new one is a file here and a
//! line in `DIALECTS`.

mod builtin;
mod fastchat;
mod model_file;
mod not_a_model;
mod opencompass;
mod opencompass_model;

use std::path::Path;

use serde::{Deserialize, Serialize};

use builtin::near;
pub(crate) use builtin::{demo_conversations, is_misspelt, near_among};
pub use fastchat::{ConversationRenderer, ConversationTemplate, SeparatorStyle, StopStrings, SystemPrompt};

use crate::conversation::Conversation;
use crate::error::{At, Error, ErrorKind, Fault, Place, Result, Setting, way_out};
use crate::file_kind::{FileKind, head};
use crate::render::{ApiTemplate, ChatWrapper};
use crate::template::{MetaTemplate, Multimodal, TokenIds};
use crate::tokenizer::{AddSpecialTokens, TokenId, Tokenizer};

/// A model's side of every prompt: its template, its tokenizer's name, and where its output ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The file, or the built-in model's name.
    #[serde(skip)]
    pub name: String,
    /// What is particular about it, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The tokenizer as [`Tokenizer::load`] finds it; a path is relative to the model file, and `demo` is
    /// always the embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The repositories of the hub whose models take this template; one `*` in a name stands for a size or version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hub: Vec<String>,
    /// Whether what the tokenizer adds by itself is added; `auto` if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special_tokens: Option<AddSpecialTokens>,
    /// The template. Without one, messages stand one below the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_template: Option<MetaTemplate>,
    /// The template as FastChat has them, in the place of `meta_template`.
    #[serde(skip)]
    pub conversation_template: Option<ConversationTemplate>,
    /// The template in the words of an API, where it is one for models behind an API.
    #[serde(skip)]
    pub api_template: Option<ApiTemplate>,
    /// The chat wrapper that it is, which makes messages of prompts for the tokenizer's chat template.
    #[serde(skip)]
    pub chat_wrapper: Option<ChatWrapper>,
    /// The id that fills batches up, where it is not the tokenizer's pad token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_token_id: Option<i64>,
    /// What stands for images, audio and video in token ids.
    #[serde(default, skip_serializing_if = "Multimodal::is_empty")]
    pub multimodal: Multimodal,
    /// Where output ends, beside what the template and the tokenizer say.
    #[serde(default, skip_serializing_if = "StopConfig::is_empty")]
    pub stop: StopConfig,
    /// Codes of lints whose findings are known and meant to be so, see [`crate::check::Lint`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The keys of an OpenCompass model dict that may say something about prompts or answers and are not read.
    #[serde(skip)]
    pub unread_keys: Vec<String>,
    /// A conversation and the prompt that it must give, for readers and for tests.
    #[serde(default, skip_serializing)]
    pub example: Option<Example>,
}

/// Stop ids and strings that a model file declares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopConfig {
    /// An id or a list of ids.
    #[serde(default, skip_serializing_if = "TokenIds::is_empty")]
    pub token_ids: TokenIds,
    /// Strings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strings: Vec<String>,
}

impl StopConfig {
    /// Whether it declares nothing.
    pub fn is_empty(&self) -> bool {
        self.token_ids.is_empty() && self.strings.is_empty()
    }
}

/// A conversation with the prompt texts that a model must make of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The conversation.
    pub conversation: Conversation,
    /// The prompt to continue.
    #[serde(rename = "gen")]
    pub generate: String,
    /// The text to score.
    #[serde(rename = "ppl")]
    pub score: String,
    /// The ids of `gen` with the model's own tokenizer, without what that adds by itself.
    pub gen_ids: Option<Vec<TokenId>>,
    /// The ids of `ppl`, likewise.
    pub ppl_ids: Option<Vec<TokenId>>,
}

/// The languages that a model file may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Json,
    Toml,
}

/// The first dialect that takes a text for its own reads it.
type Dialect = fn(&str, Syntax) -> Option<Result<Model>>;

const DIALECTS: [Dialect; 4] = [opencompass_model::read, opencompass::read, fastchat::read, model_file::read];

impl Model {
    /// Loads a model by name: a TOML or JSON file, a built-in model, or a repository of the hub that a
    /// built-in model claims, which then is the tokenizer too.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] suggests names like it; otherwise the error names file, key path and line.
    pub fn load(name: &str) -> Result<Self> {
        let path = Path::new(name);
        if path.is_file() {
            // Before all of it is read: weights may be larger than the memory.
            let kind = FileKind::of_bytes(&head(path).at(Place::file(name))?);
            if let Some(error) = kind.and_then(|kind| not_a_model::file(name, kind)) {
                return Err(error);
            }
            let bytes = std::fs::read(path).at(Place::file(name))?;
            return Self::parse(name, &bytes);
        }
        match Self::find_builtin(name) {
            Err(_) if path.is_dir() => Err(not_a_model::folder(name)),
            found => found,
        }
    }

    /// The built-in model of this name, or the one that claims this repository, which then is its tokenizer.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] suggests names like it.
    pub fn find_builtin(name: &str) -> Result<Self> {
        if let Some(text) = builtin::text(name) {
            return Self::parse(name, text.as_bytes());
        }
        let repository = name.split('@').next().unwrap_or(name);
        match builtin::claiming(repository) {
            Some(model) => Ok(Self { tokenizer: Some(name.to_owned()), ..model }),
            None => Err(not_found(name)),
        }
    }

    /// The built-in models: the demo, and then by name.
    pub fn builtin() -> impl Iterator<Item = Self> {
        builtin::models()
    }

    /// The file of a built-in model, with its comments.
    pub fn builtin_file(name: &str) -> Option<&'static str> {
        builtin::text(name)
    }

    /// Reads a model file; `name` is for messages, and its ending tells TOML from JSON.
    ///
    /// # Errors
    /// Names the key path and line of what is not as it should be, and the keys there are.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(name, bytes).of_file(Fault::Model)
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Self> {
        let (text, syntax) = text_of(name, bytes)?;
        let model = DIALECTS.iter().find_map(|read| read(text, syntax)).expect("the last dialect reads everything");
        let mut model = match model {
            Ok(model) => model,
            Err(error) => {
                let other = (syntax == Syntax::Json).then(|| not_a_model::json(name, text)).flatten();
                return Err(other.unwrap_or_else(|| error.at(Place::file(name))));
            }
        };
        name.clone_into(&mut model.name);
        Ok(model)
    }

    /// How the model is spoken to in messages: by its template for APIs, or by the roles of its template
    /// for token ids, whose `begin`s and `end`s a server writes by itself.
    ///
    /// # Errors
    /// As [`MetaTemplate::validate`].
    pub fn to_api(&self) -> Result<ApiTemplate> {
        match (&self.api_template, &self.meta_template) {
            (Some(template), _) => Ok(template.clone()),
            (None, Some(template)) => ApiTemplate::of_roles(template).at(Place::file(&self.name)),
            (None, None) => Ok(self.chat_wrapper.map_or_else(ApiTemplate::openai, ChatWrapper::template)),
        }
    }

    /// Whether there is a template for token ids, or none is wanted.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for templates of messages, and for chat wrappers.
    pub(crate) fn check_gives_ids(&self) -> Result<()> {
        if let (Some(wrapper), None) = (self.chat_wrapper, &self.conversation_template) {
            return Err(self.of_chat_wrapper(wrapper)).at(Place::file(&self.name));
        }
        if self.meta_template.is_none() && self.api_template.is_some() {
            let what = "this template is for models behind an API, which take messages and no token ids";
            let error = ErrorKind::Usage(what.into()).with_way_out(way_out![
                "build with ",
                Setting::FORMAT.set_to("messages"),
                ", or give a template with a \"round\" of texts"
            ]);
            return Err(error.at(Place::file(&self.name)));
        }
        Ok(())
    }

    /// Loads the tokenizer that the model names.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it names none; otherwise as [`Tokenizer::load`].
    pub fn load_tokenizer(&self) -> Result<Tokenizer> {
        match self.tokenizer_name()?.as_str() {
            // Whatever folder of that name there is.
            "demo" => Tokenizer::demo(),
            name => Tokenizer::load(name),
        }
    }

    /// Where the tokenizer is: beside the model file, if there is one of its name.
    pub(crate) fn tokenizer_name(&self) -> Result<String> {
        let tokenizer = self
            .tokenizer
            .as_deref()
            .ok_or_else(|| {
                ErrorKind::Usage("the model names no tokenizer".into()).with_way_out(way_out![
                    "write tokenizer = \"org/name\" into it, or give one with ",
                    Setting::TOKENIZER
                ])
            })
            .at(Place::file(&self.name))?;
        let beside = Path::new(&self.name).parent().map(|parent| parent.join(tokenizer));
        let beside = beside.filter(|path| tokenizer != "demo" && path.exists());
        Ok(beside.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| tokenizer.to_owned()))
    }
}

/// The text of a file and the language it is written in, by its name's ending or else by its looks.
fn text_of<'t>(name: &str, bytes: &'t [u8]) -> Result<(&'t str, Syntax)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if Path::new(name).extension().is_some_and(|extension| extension == "py") {
        let way_out = "`python examples/opencompass_export.py` writes each of its models and datasets as a file that is read here";
        return Err(ErrorKind::WrongFile("a configuration in Python".into())
            .with_way_out(way_out)
            .at(Place::file(name)));
    }
    let text =
        std::str::from_utf8(bytes).map_err(|error| ErrorKind::NotUtf8(error.valid_up_to())).at(Place::file(name))?;
    let syntax = match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("toml") => Syntax::Toml,
        Some("json") => Syntax::Json,
        _ if text.trim_start().starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            Syntax::Json
        }
        _ => Syntax::Toml,
    };
    Ok((text, syntax))
}

/// Reads a TOML or JSON file of any kind; errors name file, key path and line.
pub(crate) fn parse_file<T: serde::de::DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T> {
    let (text, syntax) = text_of(name, bytes)?;
    match syntax {
        Syntax::Toml => model_file::from_toml(text),
        Syntax::Json => model_file::from_json(text),
    }
    .at(Place::file(name))
}

/// The error for a name that is neither a file nor a built-in model, with names like it.
fn not_found(name: &str) -> Error {
    let near = near(name);
    let mut what = format!("there is no file {name:?} and no built-in model of that name");
    let way_out = match &near[..] {
        [] if name.contains('/') => {
            what += ", nor does one claim such a repository";
            way_out!["name one that fits, with ", Setting::TOKENIZER.set_to(name.to_owned())]
        }
        [] => way_out!["`metatok models` lists those there are"],
        near => way_out![format!("did you mean {}? `metatok models` lists all", near.join(" or "))],
    };
    ErrorKind::NotFound(what).with_way_out(way_out)
}
