//! A whole OpenCompass model dict as JSON: its meta template, where its tokenizer is, and where its output ends.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::dialect::builtin::claiming;
use crate::dialect::syntax::{Syntax, from_json};
use crate::dialect::{ConversationTemplate, Model, StopConfig, opencompass};
use crate::error::{At, Error, ErrorKind, Place, Result, Setting, Warning, way_out};
use crate::render::{ApiTemplate, ChatWrapper};
use crate::tokenizer::{AddSpecialTokens, TokenId};
use crate::wording;

/// The keys that affect prompts and where output ends. Some others are only for running the model; the rest are reported.
const READ: [&str; 9] = [
    "meta_template",
    "fastchat_template",
    "path",
    "tokenizer_path",
    "type",
    "stop_words",
    "end_str",
    "additional_stop_symbols",
    "pad_token_id",
];
#[rustfmt::skip]
const OF_RUNNING: [&str; 45] = [
    "abbr", "api_key", "attr", "backend", "batch_padding", "batch_size", "concurrency", "device_kwargs", "engine_config",
    "host_ip", "host_port", "infer_kwargs", "key", "llama_config", "llama_type", "max_workers", "model", "model_config",
    "model_kwargs", "model_name", "model_type", "num_gpus", "openai_api_base", "org", "peft_kwargs", "peft_path",
    "pred_postprocessor", "pretrained_path", "proxies", "quant", "query_per_second", "request_rate", "retry", "rpm_verbose",
    "run_cfg", "stream", "stream_chunk_size", "summarizer_abbr", "token", "tokenizer_only", "trust_remote_code", "url",
    "use_timestamp", "verbose", "with_visual",
];

const META_TEMPLATE: &str = "meta_template";

/// The class that writes no template, also if one is given.
const WITHOUT_TEMPLATE: &str = "HuggingFaceBaseModel";

/// The classes that turn prompts into messages for the tokenizer's chat template.
const CHAT_WRAPPERS: [&str; 5] = [
    "HuggingFacewithChatTemplate",
    "HuggingFaceQwen2VLwithChatTemplate",
    "TurboMindModelwithChatTemplate",
    "VLLMOfflineVLModel",
    "VLLMwithChatTemplate",
];

/// AISBench's classes that send messages to a server.
const CHAT_SERVERS: [&str; 4] =
    ["VLLMCustomAPIChat", "VLLMCustomAPIChatStream", "VLLMFunctionCallAPIChat", "VllmMultiturnAPIChatStream"];

#[derive(Deserialize)]
struct Dict {
    #[serde(default, rename = "type")]
    class: String,
    path: Option<String>,
    tokenizer_path: Option<String>,
    fastchat_template: Option<String>,
    #[serde(default)]
    stop_words: Option<Vec<String>>,
    end_str: Option<String>,
    #[serde(default)]
    additional_stop_symbols: Option<Vec<String>>,
    pad_token_id: Option<TokenId>,
}

impl Model {
    /// What the user should know: keys that are not read.
    pub fn notes(&self) -> Vec<Warning> {
        let note = |keys: &[&str], what: &str| {
            let note = Warning::new("unread-keys", what).at(keys.join(", ")).at(Place::file(&self.name));
            (!keys.is_empty()).then_some(note)
        };
        let (template, keys): (Vec<&str>, Vec<&str>) =
            self.unread_keys.iter().map(String::as_str).partition(|key| *key == META_TEMPLATE);
        let of_template = "ignored, as by HuggingFaceBaseModel itself, which writes no template; name another class, such as HuggingFace, to apply it";
        let of_others = "ignored; use options of this command or of the engine instead";
        note(&template, of_template).into_iter().chain(note(&keys, of_others)).collect()
    }

    /// The error for requesting token ids from one of its chat wrappers.
    pub(super) fn of_chat_wrapper(&self, wrapper: ChatWrapper) -> Error {
        let what = format!("this is {}'s chat wrapper, which leaves the template to the tokenizer", wrapper.owner());
        let Some(wrapper) = self.with_the_same_roles(wrapper) else {
            let what = format!("{what}, and its meta_template has roles of its own");
            return ErrorKind::Usage(what).with_way_out(way_out![
                "build with ",
                Setting::FORMAT.set_to("messages"),
                ", and token ids of these messages with ",
                Setting::MODEL.set_to("qwen3"),
                " or with ",
                Setting::TOKENIZER
            ]);
        };
        let tokenizer = self.tokenizer.as_deref().unwrap_or_default();
        let wrapper = Setting::CHAT_WRAPPER.set_to(wrapper.name());
        ErrorKind::Usage(what).with_way_out(match claiming(tokenizer) {
            Some(_) => {
                way_out!["for token ids use ", Setting::MODEL.set_to(tokenizer.to_owned()), " ", wrapper]
            }
            None => way_out![
                "for token ids name the template, such as ",
                Setting::MODEL.set_to("qwen3"),
                " ",
                wrapper,
                ", and the tokenizer with ",
                Setting::TOKENIZER
            ],
        })
    }

    /// The wrapper whose messages are those of this one: a template of roles changes them.
    fn with_the_same_roles(&self, wrapper: ChatWrapper) -> Option<ChatWrapper> {
        match (&self.api_template, &self.meta_template) {
            (Some(template), _) => ChatWrapper::with_roles_of(template),
            (None, Some(_)) => None,
            (None, None) => Some(wrapper),
        }
    }
}

pub(crate) fn read(text: &str, syntax: Syntax) -> Option<Result<Model>> {
    if syntax != Syntax::Json {
        return None;
    }
    // Another dialect rejects what is not JSON.
    match serde_json::from_str(text).ok()? {
        Value::Object(keys) if is_dataset(&keys) => {
            let way_out = way_out!["use it with ", Setting::DATASET];
            Some(Err(ErrorKind::WrongFile("a dataset".into()).with_way_out(way_out)))
        }
        Value::Object(keys) if is_model(&keys) => Some(model(text, &keys)),
        Value::Array(items) if items.iter().any(|item| item.as_object().is_some_and(is_model)) => {
            Some(Err(ErrorKind::Invalid(list(items.len())).into()))
        }
        _ => None,
    }
}

fn is_dataset(keys: &Map<String, Value>) -> bool {
    keys.contains_key("infer_cfg") || keys.contains_key("reader_cfg")
}

fn is_model(keys: &Map<String, Value>) -> bool {
    let has = |key: &str| keys.contains_key(key);
    has("abbr") || has("path") && (has("type") || has("meta_template"))
}

fn list(models: usize) -> String {
    match models {
        1 => "a list of one model; write the dict itself, without the brackets".into(),
        _ => format!(
            "a list of {models} models; use one of them (examples/opencompass_export.py writes each to its own file)"
        ),
    }
}

fn model(text: &str, keys: &Map<String, Value>) -> Result<Model> {
    let mut unread_keys = unread(keys)?;
    let dict: Dict = from_json(text)?;
    let class = dict.class.rsplit('.').next().unwrap_or_default();
    let chat_wrapper = CHAT_WRAPPERS.contains(&class).then(|| whose(&dict.class));
    let template = match keys.get(META_TEMPLATE) {
        Some(template) if class == WITHOUT_TEMPLATE => {
            unread_keys.extend(says_something(template).then(|| META_TEMPLATE.to_owned()));
            Model::default()
        }
        None if CHAT_SERVERS.contains(&class) => {
            Model { api_template: Some(ApiTemplate::openai()), ..Model::default() }
        }
        None => Model::default(),
        Some(value) => opencompass::in_dict(text, value)?,
    };
    let conversation_template = match dict.fastchat_template {
        Some(name) if chat_wrapper == Some(ChatWrapper::OpenCompass) => Some(of_fastchat(&name, keys)?),
        Some(_) => {
            unread_keys.push("fastchat_template".into());
            None
        }
        None => None,
    };
    let strings = dict.stop_words.into_iter().chain(dict.additional_stop_symbols).flatten().chain(dict.end_str);
    let tokenizer = [dict.tokenizer_path, dict.path].into_iter().flatten().find(|name| is_tokenizer(name));
    Ok(Model {
        tokenizer,
        chat_wrapper,
        // `_format_with_fast_chat_template`: the tokenizer adds what it adds to any text.
        special_tokens: conversation_template.is_some().then_some(AddSpecialTokens::Always),
        conversation_template,
        pad_token_id: dict.pad_token_id.map(i64::from),
        stop: StopConfig { strings: strings.filter(|string| !string.is_empty()).collect(), ..StopConfig::default() },
        unread_keys,
        ..template
    })
}

/// The template that a chat wrapper has FastChat write instead of the tokenizer's.
fn of_fastchat(name: &str, keys: &Map<String, Value>) -> Result<ConversationTemplate> {
    if keys.get("meta_template").is_some_and(|template| !template.is_null()) {
        let what = "FastChat writes the user's messages and the model's, whatever roles meta_template names";
        let error = ErrorKind::Invalid(what.into()).with_way_out("leave out meta_template or fastchat_template");
        return Err(error.at("fastchat_template"));
    }
    ConversationTemplate::of_fastchat_model(name).at("fastchat_template")
}

/// Who owns the class.
fn whose(class: &str) -> ChatWrapper {
    if class.starts_with("ais_bench.") { ChatWrapper::AisBench } else { ChatWrapper::OpenCompass }
}

/// Whether this is a folder, or looks like a repository of the hub. The names of models behind an API are neither.
fn is_tokenizer(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && !word.starts_with('.') && !word.contains([' ', ':', '\\']);
    Path::new(name).exists()
        || name.split_once('/').is_some_and(|(org, name)| is_word(org) && is_word(name) && !name.contains('/'))
}

/// The keys that may affect prompts or answers but are not read.
fn unread(keys: &Map<String, Value>) -> Result<Vec<String>> {
    let mut unread = Vec::new();
    for key in keys.iter().filter(|(_, value)| says_something(value)).map(|(key, _)| key.as_str()) {
        if READ.contains(&key) || OF_RUNNING.contains(&key) {
            continue;
        }
        check_spelling(key, keys)?;
        unread.push(key.to_owned());
    }
    Ok(unread)
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(keys) => !keys.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// A key that is very similar to a known key is a misspelling of it.
fn check_spelling(key: &str, keys: &Map<String, Value>) -> Result<()> {
    match READ.iter().find(|read| !keys.contains_key(**read) && wording::is_misspelt(key, read)) {
        Some(near) => {
            let what = format!("unknown key `{key}`");
            Err(ErrorKind::Invalid(what).with_way_out(format!("did you mean `{near}`?")))
        }
        None => Ok(()),
    }
}
