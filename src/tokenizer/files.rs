//! The files of a tokenizer: which ones there are, and their names in messages.

use std::path::Path;

use memchr::memmem;

use crate::error::Result;
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::added_tokens::ADDED_TOKENS;
use crate::tokenizer::formats::{convert, is_vocabulary, vocabulary_files};
use crate::tokenizer::named_tokens::ADDED_TOKENS_DECODER;

/// The files of a tokenizer. Only the first, or another vocabulary in its place, is required.
pub(crate) const FILES: [&str; 4] =
    [TOKENIZER_JSON, "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"];
pub(crate) const TOKENIZER_JSON: &str = "tokenizer.json";

/// The files that may hold a vocabulary; if there are several, the first counts.
pub(crate) fn vocabularies() -> impl Iterator<Item = &'static str> {
    [TOKENIZER_JSON].into_iter().chain(vocabulary_files())
}

impl TokenizerFiles {
    /// Collects the files with `get`, which returns `None` for a file that does not exist. None without a vocabulary.
    pub(crate) fn collect(name: &str, mut get: impl FnMut(&str) -> Result<Option<Vec<u8>>>) -> Result<Option<Self>> {
        for file in vocabularies() {
            if let Some(bytes) = get(file)? {
                return Self::with_vocabulary(name, file, bytes, get).map(Some);
            }
        }
        Ok(None)
    }

    /// Collects the files beside a vocabulary, which is the content of `file`.
    pub(crate) fn with_vocabulary(
        name: &str,
        file: &str,
        vocabulary: Vec<u8>,
        mut get: impl FnMut(&str) -> Result<Option<Vec<u8>>>,
    ) -> Result<Self> {
        let [_, others @ ..] = FILES;
        let [tokenizer_config, special_tokens_map, generation_config] = others.map(&mut get);
        let tokenizer_config = tokenizer_config?;
        let files = Self {
            name: name.to_owned(),
            tokenizer_json: Vec::new(),
            converted_from: None,
            special_tokens_map: special_tokens_map?,
            generation_config: generation_config?,
            added_tokens: if has_added_tokens(tokenizer_config.as_deref()) { None } else { get(ADDED_TOKENS)? },
            tokenizer_config,
        };
        match file == TOKENIZER_JSON && !is_vocabulary(&vocabulary) {
            true => Ok(Self { tokenizer_json: vocabulary, ..files }),
            false => convert(&vocabulary, file, files),
        }
    }

    /// The name of one of the files in messages.
    pub(crate) fn place(&self, file: &str) -> String {
        match &self.converted_from {
            Some(vocabulary) if file == TOKENIZER_JSON => {
                format!("{}, converted to tokenizer.json", place_of(&self.name, vocabulary))
            }
            _ => place_of(&self.name, file),
        }
    }
}

/// Whether a `tokenizer_config.json` has its added tokens, so that no other file is read for them.
fn has_added_tokens(config: Option<&[u8]>) -> bool {
    config.is_some_and(|config| memmem::find(config, ADDED_TOKENS_DECODER.as_bytes()).is_some())
}

/// The name of a tokenizer's file in messages: if a file was given, this file or its neighbour.
pub(crate) fn place_of(tokenizer: &str, file: &str) -> String {
    let name = Path::new(tokenizer);
    match file {
        _ if !name.is_file() => format!("{tokenizer}: {file}"),
        TOKENIZER_JSON => tokenizer.to_owned(),
        _ => name.with_file_name(file).display().to_string(),
    }
}
