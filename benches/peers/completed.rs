//! Tokenizers whose `tokenizer_config.json` has added tokens that `tokenizer.json` lacks, made whole for the peers.
//!
//! transformers and metatok read both files, and most peers only one: without this they would be asked for other ids.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// Where peers find a tokenizer.
pub(crate) struct Completed {
    folder: PathBuf,
    /// A copy, removed in the end.
    copy: Option<TempDir>,
}

impl Completed {
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let read = |name: &str| fs::read(folder.join(name)).map_err(|error| error.to_string());
        let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).map_err(|error| error.to_string());
        let mut json = parse(&read("tokenizer.json")?)?;
        let config = read("tokenizer_config.json").and_then(|bytes| parse(&bytes)).unwrap_or_default();
        let original = Self { folder: folder.to_owned(), copy: None };
        let Some(added) = json["added_tokens"].as_array_mut() else { return Ok(original) };
        let missing = missing(added, &config);
        if missing.is_empty() {
            return Ok(original);
        }
        let entry = |token: &Value| Some((token["content"].as_str()?.to_owned(), token["id"].clone()));
        let entries: Vec<(String, Value)> = missing.iter().filter_map(entry).collect();
        added.extend(missing);
        added.sort_by_key(|token| token["id"].as_u64());
        // The libraries number what the vocabulary lacks as they like. No merge leads to these entries.
        if let Some(vocab) = json["model"]["vocab"].as_object_mut() {
            for (content, id) in entries {
                vocab.entry(content).or_insert(id);
            }
        }
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        let write = |name: &str, value: &Value| fs::write(copy.path().join(name), value.to_string());
        write("tokenizer.json", &json).map_err(|error| error.to_string())?;
        write("tokenizer_config.json", &config).map_err(|error| error.to_string())?;
        Ok(Self { folder: copy.path().to_owned(), copy: Some(copy) })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.copy.is_some()
    }
}

fn missing(added: &[Value], config: &Value) -> Vec<Value> {
    let listed = config["added_tokens_decoder"].as_object().into_iter().flatten();
    let with_id = listed.filter_map(|(id, token)| {
        let mut token = token.clone();
        token["id"] = id.parse::<u64>().ok()?.into();
        Some(token)
    });
    with_id.filter(|token| added.iter().all(|other| other["id"] != token["id"])).collect()
}
