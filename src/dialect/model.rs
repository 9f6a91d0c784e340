//! A model's part of every prompt: its template, its tokenizer's name, and where its output ends.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::dialect::chat_template::ChatTemplate;
use crate::dialect::fastchat::ConversationTemplate;
use crate::dialect::verification::Verification;
use crate::error::{At, ErrorKind, Place, Result, Setting, way_out};
use crate::render::{ApiTemplate, ChatWrapper};
use crate::template::{MetaTemplate, Multimodal, TokenIds};
use crate::tokenizer::{AddSpecialTokens, TokenId, Tokenizer};

/// A model's part of every prompt: its template, its tokenizer's name, and where its output ends.
///
/// It is read and written as metatok's own model files are, which hold no template of another kind than `meta_template`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The file, or the built-in model's name.
    #[serde(skip)]
    pub name: String,
    /// A description, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The tokenizer, as a name for [`Tokenizer::load`]. A path is relative to the model file, and `demo` is always the
    /// embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// The repositories of the hub whose models use this template; one `*` in a name matches a size or version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hub: Vec<String>,
    /// The chat templates of such repositories with which it was compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified: Vec<Verification>,
    /// Whether the tokenizer's own special tokens are added; `auto` by default. `never` means that the template writes them:
    /// a conversation that is a string, to which no template is applied, gets those of `auto` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special_tokens: Option<AddSpecialTokens>,
    /// The template. Without one, messages are written one per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_template: Option<MetaTemplate>,
    /// The template in FastChat's form, instead of `meta_template`.
    #[serde(skip)]
    pub conversation_template: Option<ConversationTemplate>,
    /// The tokenizer's chat template, in Jinja, instead of `meta_template`.
    #[serde(skip)]
    pub chat_template: Option<ChatTemplate>,
    /// The template in terms of an API, for models behind an API.
    #[serde(skip)]
    pub api_template: Option<ApiTemplate>,
    /// The chat wrapper, if it is one, which turns prompts into messages for the tokenizer's chat template.
    #[serde(skip)]
    pub chat_wrapper: Option<ChatWrapper>,
    /// The id for padding batches, if it is not the tokenizer's pad token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_token_id: Option<i64>,
    /// The placeholders of images, audio and video in token ids.
    #[serde(default, skip_serializing_if = "Multimodal::is_empty")]
    pub multimodal: Multimodal,
    /// Where output ends, in addition to the stops of the template and the tokenizer.
    #[serde(default, skip_serializing_if = "StopConfig::is_empty")]
    pub stop: StopConfig,
    /// Codes of lints whose findings are known and intended, see [`crate::check::Lint`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The keys of an OpenCompass model dict that may affect prompts or answers but are not read.
    #[serde(skip)]
    pub unread_keys: Vec<String>,
    /// A conversation and its expected prompt, for readers and for tests.
    #[serde(default, skip_serializing)]
    pub example: Option<Example>,
}

impl From<MetaTemplate> for Model {
    /// A model with this template. Its tokenizer is given separately.
    fn from(template: MetaTemplate) -> Self {
        Self { name: "template".into(), meta_template: Some(template), ..Self::default() }
    }
}

impl From<ChatTemplate> for Model {
    /// A model with this template, to which nothing is added: a chat template writes BOS itself.
    fn from(template: ChatTemplate) -> Self {
        Self {
            name: template.name.clone(),
            special_tokens: Some(AddSpecialTokens::Never),
            chat_template: Some(template),
            ..Self::default()
        }
    }
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

/// A conversation with the expected prompt texts of a model.
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
    /// The ids of `gen` with the model's own tokenizer, without its own special tokens.
    pub gen_ids: Option<Vec<TokenId>>,
    /// The ids of `ppl`, likewise.
    pub ppl_ids: Option<Vec<TokenId>>,
}

impl Model {
    /// Which special tokens a conversation gets that is a string: `never` is said of the template, if there is one.
    pub(crate) fn special_tokens_of_strings(&self) -> Option<AddSpecialTokens> {
        let has_template = self.meta_template.is_some() || self.conversation_template.is_some();
        self.special_tokens.filter(|own| !has_template || *own != AddSpecialTokens::Never)
    }

    /// A chat template with the variables with which this model was compared with one, if there were any.
    #[must_use]
    pub fn template_as_verified(&self, mut template: ChatTemplate) -> ChatTemplate {
        if let Some(claim) = self.verified.iter().find(|claim| !claim.kwargs.is_empty()) {
            template.kwargs.clone_from(&claim.kwargs);
        }
        template
    }

    /// How to address the model in messages: by its template for APIs, or by the roles of its template for token ids,
    /// whose `begin`s and `end`s a server writes by itself.
    ///
    /// # Errors
    /// The same as for [`MetaTemplate::validate`].
    pub fn to_api(&self) -> Result<ApiTemplate> {
        match (&self.api_template, &self.meta_template) {
            (Some(template), _) => Ok(template.clone()),
            (None, Some(template)) => ApiTemplate::of_roles(template).at(Place::file(&self.name)),
            (None, None) => Ok(self.chat_wrapper.map_or_else(ApiTemplate::openai, ChatWrapper::template)),
        }
    }

    /// Whether there is a template for token ids, or none is needed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for templates of messages, and for chat wrappers.
    pub fn check_gives_ids(&self) -> Result<()> {
        if let (Some(wrapper), None) = (self.chat_wrapper, &self.conversation_template) {
            return Err(self.of_chat_wrapper(wrapper)).at(Place::file(&self.name));
        }
        if self.meta_template.is_none() && self.api_template.is_some() {
            let what = "this template is for models behind an API, which accept messages, not token ids";
            let error = ErrorKind::Usage(what.into()).with_way_out(way_out![
                "build with ",
                Setting::FORMAT.set_to("messages"),
                ", or supply a template with a \"round\" of texts"
            ]);
            return Err(error.at(Place::file(&self.name)));
        }
        Ok(())
    }

    /// Loads the tokenizer that the model names.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it does not name one; otherwise as for [`Tokenizer::load`].
    pub fn load_tokenizer(&self) -> Result<Tokenizer> {
        match self.tokenizer_name()?.as_str() {
            // Even if there is a folder with that name.
            "demo" => Tokenizer::demo(),
            name => Tokenizer::load(name).map_err(|error| match error.kind() {
                ErrorKind::NotFound(_) => error.at("tokenizer").at(Place::file(&self.name)),
                _ => error,
            }),
        }
    }

    /// Where the tokenizer is: next to the model file, if it exists there.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the model does not name one.
    pub fn tokenizer_name(&self) -> Result<String> {
        let tokenizer = self
            .tokenizer
            .as_deref()
            .ok_or_else(|| {
                ErrorKind::Usage("the model does not name a tokenizer".into()).with_way_out(way_out![
                    "set tokenizer = \"org/name\" in it, or choose one with ",
                    Setting::TOKENIZER
                ])
            })
            .at(Place::file(&self.name))?;
        let beside = Path::new(&self.name).parent().map(|parent| parent.join(tokenizer));
        let beside = beside.filter(|path| tokenizer != "demo" && path.exists());
        Ok(beside.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| tokenizer.to_owned()))
    }
}
