//! Whether a file of prompts is still what would be built: hashes of everything that determines the ids.
//!
//! ```
//! use metatok::{BuilderOptions, Fingerprint, Model, Tokenizer};
//!
//! let (tokenizer, options) = (Tokenizer::demo()?, BuilderOptions::default());
//! let then = Fingerprint::new(&Model::load("demo")?, &tokenizer, &options);
//! let now = Fingerprint::new(&Model::load("llama-2-chat")?, &tokenizer, &options);
//! assert_eq!(then.differences(&now)[0].part, "template");
//! # Ok::<(), metatok::Error>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::builder::BuilderOptions;
use crate::dialect::{ChatTemplate, Model};
use crate::digest::digest;
use crate::tokenizer::Tokenizer;

/// What built a prompt. If two prompts have the same fingerprint, the same conversation has the same ids.
///
/// ```
/// use metatok::{BuilderOptions, Fingerprint, Mode, Model, Tokenizer};
///
/// let (model, tokenizer) = (Model::load("demo")?, Tokenizer::demo()?);
/// let then = Fingerprint::new(&model, &tokenizer, &BuilderOptions::default());
/// let now = Fingerprint::new(&model, &tokenizer, &BuilderOptions { mode: Mode::Score, ..BuilderOptions::default() });
/// let differences: Vec<String> = then.differences(&now).iter().map(ToString::to_string).collect();
/// assert_eq!(differences, ["mode differs: file has the default, current is \"ppl\""]);
/// # Ok::<(), metatok::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The version of metatok.
    pub metatok: String,
    /// The template, stops and placeholders of the model file: 16 digits of a hash. Notes for readers, the file's name
    /// and the order of its keys do not affect it.
    pub template: String,
    /// The tokenizer, with its added and special tokens: 16 digits of a hash.
    pub tokenizer: String,
    /// The options that affect ids or stops, if they differ from the default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Value>,
}

/// A difference between two fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference<'f> {
    /// The part: `metatok`, `template`, `tokenizer` or an option.
    pub part: &'f str,
    /// What built the prompt; none is an option's default.
    pub there: Option<String>,
    /// What would build it now.
    pub here: Option<String>,
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [there, here] = [&self.there, &self.here].map(|side| side.as_deref().unwrap_or("the default"));
        write!(f, "{} differs: file has {there}, current is {here}", self.part)
    }
}

impl Fingerprint {
    /// For what [`PromptBuilder::new`](crate::PromptBuilder::new) builds from the same arguments. Your own renderer is
    /// not included.
    pub fn new(model: &Model, tokenizer: &Tokenizer, options: &BuilderOptions) -> Self {
        let template = model.conversation_template.clone();
        let template = template.map(|template| crate::dialect::ConversationTemplate { about: None, ..template });
        let model = Model {
            about: None,
            tokenizer: None,
            hub: Vec::new(),
            verified: Vec::new(),
            allow: Vec::new(),
            conversation_template: None,
            example: None,
            ..model.clone()
        };
        let default = json(&BuilderOptions::default());
        // What is recorded of a prompt in addition to its ids does not change them.
        let chat_wrapper = options.chat_wrapper.or(model.chat_wrapper);
        // Nor does an option that only repeats what the model says of all conversations.
        let of_model = [model.special_tokens, model.special_tokens_of_strings()].map(Option::unwrap_or_default);
        let special_tokens = options.special_tokens.filter(|own| of_model.iter().any(|said| said != own));
        let own = options.clone();
        let options = BuilderOptions { spans: false, offsets: false, text: false, chat_wrapper, special_tokens, ..own };
        let options = match json(&options) {
            Value::Object(options) => {
                options.into_iter().filter(|(name, value)| default.get(name) != Some(value)).collect()
            }
            _ => BTreeMap::new(),
        };
        Self {
            metatok: env!("CARGO_PKG_VERSION").into(),
            template: match &model.chat_template {
                // Nothing stands for a chat template that is not there.
                None => digest(&json(&(model, template))),
                Some(ChatTemplate { source, tool_use, special_tokens, kwargs, now, .. }) => {
                    digest(&json(&(&model, source, tool_use, special_tokens, kwargs, now)))
                }
            },
            tokenizer: tokenizer.digest().to_owned(),
            options,
        }
    }

    /// Adds an option that is not the builder's, such as how rows become conversations.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.options.insert(option.into(), value.into());
        self
    }

    /// The fingerprint as files have it, on one line.
    pub fn to_json(&self) -> Box<RawValue> {
        to_raw_value(self).expect("strings and values are JSON")
    }

    /// The parts that differ from `here`.
    pub fn differences<'f>(&'f self, here: &'f Self) -> Vec<Difference<'f>> {
        let parts = [
            ("metatok", &self.metatok, &here.metatok),
            ("template", &self.template, &here.template),
            ("tokenizer", &self.tokenizer, &here.tokenizer),
        ];
        let parts = parts.map(|(part, there, here)| (part, Some(there.clone()), Some(here.clone())));
        let names = self.options.keys().chain(here.options.keys().filter(|name| !self.options.contains_key(*name)));
        let option = |of: &Self, name: &String| of.options.get(name).map(Value::to_string);
        let options = names.map(|name| (name.as_str(), option(self, name), option(here, name)));
        let all = parts.into_iter().chain(options).filter(|(_, there, here)| there != here);
        all.map(|(part, there, here)| Difference { part, there, here }).collect()
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("models and options are plain data with keys that are strings")
}
