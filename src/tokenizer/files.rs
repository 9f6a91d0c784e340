//! The files of a tokenizer: which ones there are, and their names in messages.

use std::path::Path;

use crate::error::Result;
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::formats::{self, VOCABULARY_FILES};

/// The files of a tokenizer, of which only the first must exist, or another vocabulary in its place.
pub(crate) const FILES: [&str; 4] =
    ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"];

impl TokenizerFiles {
    /// Collects the files with `get`, which returns `None` for a file that does not exist. None without a vocabulary.
    pub(crate) fn collect(name: &str, mut get: impl FnMut(&str) -> Result<Option<Vec<u8>>>) -> Result<Option<Self>> {
        for file in [FILES[0]].into_iter().chain(VOCABULARY_FILES) {
            if let Some(bytes) = get(file)? {
                return Self::with_vocabulary(name, file, bytes, get).map(Some);
            }
        }
        Ok(None)
    }

    /// The same with a vocabulary, the content of `file`.
    pub(crate) fn with_vocabulary(
        name: &str,
        file: &str,
        vocabulary: Vec<u8>,
        get: impl FnMut(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<Self> {
        let [tokenizer, others @ ..] = FILES;
        let [tokenizer_config, special_tokens_map, generation_config] = others.map(get);
        let files = Self {
            name: name.to_owned(),
            tokenizer_json: Vec::new(),
            tokenizer_config: tokenizer_config?,
            special_tokens_map: special_tokens_map?,
            generation_config: generation_config?,
        };
        match file == tokenizer {
            true => Ok(Self { tokenizer_json: vocabulary, ..files }),
            false => formats::convert(&vocabulary, &files.place(file), files),
        }
    }

    /// The name of one of the files in messages: if a file was given, this file or its neighbour.
    pub(crate) fn place(&self, file: &str) -> String {
        let name = Path::new(&self.name);
        match file {
            _ if !name.is_file() => format!("{}: {file}", self.name),
            "tokenizer.json" => self.name.clone(),
            _ => name.with_file_name(file).display().to_string(),
        }
    }
}
