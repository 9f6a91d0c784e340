//! The files of a tokenizer: which ones there are, and their names in messages.

use std::path::Path;

use crate::error::Result;
use crate::tokenizer::{TokenizerFiles, gguf, not_a_tokenizer};

/// The files of a tokenizer, of which only the first must exist.
pub(crate) const FILES: [&str; 4] =
    ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"];

impl TokenizerFiles {
    /// Collects the files with `get`, which returns `None` for a file that does not exist.
    pub(crate) fn collect(name: &str, mut get: impl FnMut(&str) -> Result<Option<Vec<u8>>>) -> Result<Self> {
        let [tokenizer, config, map, generation] = FILES;
        let tokenizer_json = get(tokenizer)?.ok_or_else(|| not_a_tokenizer::folder(Path::new(name)))?;
        Ok(Self {
            name: name.to_owned(),
            tokenizer_json,
            tokenizer_config: get(config)?,
            special_tokens_map: get(map)?,
            generation_config: get(generation)?,
        })
    }

    /// The name of one of the files in messages: if a file was given, this file or its neighbour.
    pub(crate) fn place(&self, file: &str) -> String {
        let name = Path::new(&self.name);
        match file {
            _ if !name.is_file() => format!("{}: {file}", self.name),
            "tokenizer.json" => self.name.clone(),
            _ if gguf::is_gguf(name) => format!("{}: {file}", self.name),
            _ => name.with_file_name(file).display().to_string(),
        }
    }
}
