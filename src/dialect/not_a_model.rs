//! Explains what something is that is not a model, and which template may be meant.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::dialect::{ChatTemplate, builtin};
use crate::error::{Error, ErrorKind, Place, Setting, WayOut, way_out};
use crate::file_kind::{FileKind, has_extension, without_bom};
use crate::tokenizer::is_model;

/// The templates of the families that a config.json names, the likeliest first.
const FAMILIES: [(&str, &[&str]); 17] = [
    ("baichuan", &["baichuan2-chat"]),
    ("chatglm", &["chatglm3", "glm-4"]),
    ("cohere", &["command-r"]),
    ("deepseek_v2", &["deepseek-v2"]),
    ("deepseek_v3", &["deepseek-v3", "deepseek-r1"]),
    ("falcon", &["falcon-chat"]),
    ("gemma", &["gemma-2"]),
    ("gemma2", &["gemma-2"]),
    ("gemma3", &["gemma-3"]),
    ("gemma3_text", &["gemma-3"]),
    ("internlm2", &["internlm2-chat"]),
    ("llama", &["llama-3", "llama-2-chat", "vicuna"]),
    ("mistral", &["mistral-instruct-v3", "mistral-instruct-tekken", "mistral-instruct-v1"]),
    ("mixtral", &["mixtral"]),
    ("phi3", &["phi-3", "phi-4"]),
    ("qwen2", &["qwen2.5"]),
    ("qwen3", &["qwen3"]),
];

/// The error for a folder.
pub(super) fn folder(name: &str) -> Error {
    let path = Path::new(name);
    let toml = || {
        let mut files: Vec<_> =
            std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.into_iter().find(|file| has_extension(file, &["toml"]))
    };
    let has_config = ["tokenizer_config.json", "config.json"].iter().any(|file| path.join(file).is_file());
    let (what, way_out) = if has_config || is_model(path) {
        let way_out = if has_chat_template(name) { alone(name) } else { beside(path, name) };
        ("a folder with a tokenizer, not a template", way_out)
    } else if let Some(file) = toml() {
        ("a folder", way_out![format!("choose a model file in it, such as {}", file.display())])
    } else {
        let way_out = way_out!["`metatok models` lists the built-in ones"];
        ("a folder without a model file or a tokenizer", way_out)
    };
    ErrorKind::WrongFile(what.into()).with_way_out(way_out).at(Place::file(name))
}

/// Whether a file has a name of Jinja's.
pub(super) fn is_named_chat_template(path: &Path) -> bool {
    has_extension(path, &["jinja", "j2", "jinja2"])
}

/// Whether a file is Jinja.
pub(super) fn is_chat_template(path: &Path, bytes: &[u8]) -> bool {
    let text = without_bom(bytes).trim_ascii_start();
    is_named_chat_template(path) || ["{%", "{{", "{#"].iter().any(|tag| text.starts_with(tag.as_bytes()))
}

/// The error for a chat template.
pub(super) fn chat_template(name: &str) -> Error {
    let way_out = way_out!["use it with ", Setting::CHAT_TEMPLATE.set_to(name.to_owned()), " and a tokenizer"];
    ErrorKind::WrongFile("a chat template, not a model file".into()).with_way_out(way_out).at(Place::file(name))
}

/// The error for a file of another kind; none if it may be an invalid model file.
pub(super) fn file(name: &str, kind: FileKind) -> Option<Error> {
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let tokenizer = match kind {
        FileKind::ModelFile => return None,
        FileKind::Tokenizer | FileKind::Gguf | FileKind::SentencePiece | FileKind::Tekken | FileKind::Tiktoken => {
            name.to_owned()
        }
        _ if folder.join("tokenizer.json").is_file() => folder.display().to_string(),
        _ => "FOLDER".to_owned(),
    };
    let remedy = match kind.remedy() {
        Some(remedy) => remedy.into(),
        None if kind == FileKind::Gguf && has_chat_template(name) => alone(name),
        None => beside(folder, &tokenizer),
    };
    let what = match kind {
        FileKind::Empty | FileKind::LfsPointer | FileKind::Html | FileKind::Compressed(_) => "",
        _ => ", not a template",
    };
    Some(ErrorKind::WrongFile(format!("{}{what}", kind.name())).with_way_out(remedy).at(Place::file(name)))
}

/// The error for bytes that no dialect reads, if their keys reveal what they are.
pub(super) fn of_json(name: &str, text: &str) -> Option<Error> {
    file(name, FileKind::of_json(&serde_json::from_str(text).ok()?)?)
}

/// How to name the template together with a tokenizer.
fn beside(folder: &Path, tokenizer: &str) -> WayOut {
    match &fitting(folder)[..] {
        [] => pair("NAME", tokenizer).and(" (`metatok models` lists the names)"),
        [only] => pair(only, tokenizer),
        [first, others @ ..] => pair(first, tokenizer).and(format!(" (or {})", others.join(", "))),
    }
}

/// How to use a tokenizer's own template.
fn alone(tokenizer: &str) -> WayOut {
    way_out!["use its own chat template, with ", Setting::TOKENIZER.set_to(tokenizer.to_owned()), " alone"]
}

fn has_chat_template(folder: &str) -> bool {
    ChatTemplate::of_tokenizer(folder).is_ok_and(|template| template.is_some())
}

/// A file of JSON in a folder; null if there is none.
fn json(folder: &Path, file: &str) -> Value {
    let bytes = std::fs::read(folder.join(file)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn pair(name: &str, tokenizer: &str) -> WayOut {
    way_out![
        "name the template too: ",
        Setting::MODEL.set_to(name.to_owned()),
        " ",
        Setting::TOKENIZER.set_to(tokenizer.to_owned())
    ]
}

/// The built-in models whose template this folder's model may use: by its repository's name, or else by its family.
fn fitting(folder: &Path) -> Vec<String> {
    let config = json(folder, "config.json");
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    // In the hub's cache the repository is models--ORG--NAME/snapshots/COMMIT.
    let folders = whole.ancestors().take(3).filter_map(|folder| folder.file_name()?.to_str()).map(str::to_owned);
    let declared = [&config["_name_or_path"], &json(folder, "tokenizer_config.json")["name_or_path"]];
    let declared = declared.into_iter().filter_map(Value::as_str).map(str::to_owned);
    let mut names = folders.map(|name| name.rsplit("--").next().unwrap_or_default().to_owned()).chain(declared);
    if let Some(model) = names.find_map(|name| builtin::claiming_name(&last(&name))) {
        return vec![model];
    }
    let family = config["model_type"].as_str().unwrap_or_default();
    let models = FAMILIES.iter().find(|(known, _)| *known == family).map_or(&[][..], |(_, models)| *models);
    models.iter().map(|model| (*model).to_owned()).collect()
}

fn last(name: &str) -> String {
    PathBuf::from(name).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_built_in() {
        for (_, models) in FAMILIES {
            assert!(models.iter().all(|model| builtin::text(model).is_some()), "{models:?}");
        }
    }
}
