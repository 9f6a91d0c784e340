//! The built-in conversation templates.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize as _;

use crate::dialect::builtin::{near_among, similar_or_listed};
use crate::dialect::fastchat::style::SeparatorStyle;
use crate::dialect::fastchat::template::{ConversationTemplate, SystemPrompt};
use crate::dialect::syntax::Syntax;
use crate::dialect::{is_file_or_pipe, parse_file};
use crate::error::{At, Error, ErrorKind, Fault, OfFile, Place, Result, Setting, way_out};

const FILES: [(&str, &str); 2] = [
    ("ultrafeedback", include_str!("../../../models/conversations/ultrafeedback.toml")),
    ("fastchat", include_str!("../../../models/conversations/fastchat.toml")),
];

/// The templates of FastChat 0.2.36 that none of its adapters takes for a model of their own name.
#[rustfmt::skip]
const NOT_FOUND_BY_NAME: [&str; 13] = [
    "airoboros_v2", "aquila-v1", "chinese-alpaca2", "cllm", "gemma", "llama-3", "open-orca", "phind", "rwkv", "snoozy",
    "solar", "vigogne_chat_v3", "zero_shot",
];

/// Every template by its full name, such as `fastchat/vicuna_v1.1`.
static TEMPLATES: LazyLock<Vec<(String, ConversationTemplate)>> = LazyLock::new(|| {
    FILES
        .iter()
        .flat_map(|(source, text)| read(source, text).expect("the tests read every built-in template"))
        .collect()
});

fn read(source: &str, text: &str) -> Result<Vec<(String, ConversationTemplate)>> {
    let parse = |error: toml::de::Error| Error::from(ErrorKind::Parse(error.to_string()));
    let mut file: toml::Table = Syntax::Toml.read(text)?;
    let Some(toml::Value::Array(templates)) = file.remove("template") else { return Ok(Vec::new()) };
    let template = |mut template: toml::Value| {
        // UltraFeedback lists some under a name other than their own.
        let key = template.as_table_mut().and_then(|table| table.remove("key"));
        let template = ConversationTemplate::deserialize(template).map_err(parse)?;
        let key = key.as_ref().and_then(toml::Value::as_str).unwrap_or(&template.name);
        Ok((format!("{source}/{key}"), template))
    };
    templates.into_iter().map(template).collect()
}

impl ConversationTemplate {
    /// Loads a template: a TOML or JSON file, or a built-in one by its name, with the prefix `ultrafeedback/` or
    /// `fastchat/` if the two differ.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] suggests similar names; other errors name file, key path and line.
    pub fn load(name: &str) -> Result<Self> {
        if is_file_or_pipe(Path::new(name)) {
            let bytes = std::fs::read(name).at(Place::file(name))?;
            return parse_file(name, &bytes).of_file(Fault::Model);
        }
        let named = |(full, _): &&(String, Self)| full == name || full.split('/').nth(1) == Some(name);
        let mut found = TEMPLATES.iter().filter(named);
        match (found.next(), found.next()) {
            (Some((_, template)), None) => Ok(template.clone()),
            (Some((_, one)), Some((_, other))) if one.writes_as(other) => Ok(one.clone()),
            (Some((one, _)), Some((other, _))) => {
                let what = format!("{name:?} could be {one} or {other}, which differ");
                Err(ErrorKind::NotFound(what).with_way_out("use one of these names"))
            }
            (None, _) => Err(not_found(name)),
        }
    }

    /// The built-in templates with their full names.
    pub fn builtin() -> impl Iterator<Item = (&'static str, &'static Self)> {
        TEMPLATES.iter().map(|(name, template)| (name.as_str(), template))
    }

    /// The template that UltraFeedback's callers use for a model, such as `ultralm-13b`; none for models that they send
    /// messages to.
    pub fn of_ultrafeedback_model(model_type: &str) -> Option<Self> {
        let family = model_type.split('-').next().unwrap_or_default();
        let name = match family {
            _ if model_type.contains("ultralm") => "ultralm",
            _ if model_type.contains("starchat") => "starchat",
            _ if model_type == "wizardlm-7b" => "wizardlm-7b",
            "llama" | "alpaca" | "vicuna" | "mpt" | "falcon" | "wizardlm" => family,
            _ => return None,
        };
        Self::load(&format!("ultrafeedback/{name}")).ok()
    }

    /// The template that FastChat's `get_conversation_template` finds for one of these names: a built-in template's own
    /// name, or `vicuna`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for other names, and for those of templates that it finds by other names only.
    pub fn of_fastchat_model(name: &str) -> Result<Self> {
        let found = if name == "vicuna" { "vicuna_v1.1" } else { name };
        let full = format!("fastchat/{found}");
        match TEMPLATES.iter().find(|(known, _)| *known == full) {
            Some((_, template)) if !NOT_FOUND_BY_NAME.contains(&name) => Ok(template.clone()),
            _ => {
                let what = format!("it is unknown which template FastChat finds for {name:?}");
                Err(ErrorKind::NotFound(what).with_way_out(way_out![
                    "choose the template with ",
                    Setting::CONVERSATION_TEMPLATE,
                    "; `metatok models` lists them"
                ]))
            }
        }
    }

    /// Whether both write the same, even if one has its whole system text and the other takes it from a template.
    fn writes_as(&self, other: &Self) -> bool {
        let whole = |template: &Self| match &template.system {
            SystemPrompt::Whole { system } => Some(system.clone()),
            SystemPrompt::Template { system_template, system_message } => {
                (system_template == "{system_message}").then(|| system_message.clone())
            }
        };
        let same_system = whole(self).is_some_and(|system| Some(system) == whole(other));
        let alike = Self { system: self.system.clone(), about: self.about.clone(), ..other.clone() };
        same_system && self.sep_style != SeparatorStyle::Llama2 && *self == alike
    }
}

fn not_found(name: &str) -> Error {
    let names = TEMPLATES.iter().filter_map(|(full, _)| full.split('/').nth(1));
    ErrorKind::NotFound(format!("there is no file {name:?} and no conversation template with that name"))
        .with_way_out(similar_or_listed(&near_among(name, names), "metatok models"))
}
