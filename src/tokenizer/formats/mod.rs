//! Vocabularies in other formats than `tokenizer.json`, converted to the files of a repository that has one.
//!
//! The ids are those of the format's own library, except as `docs/tokenizers.md` lists. A new format is a file here and a
//! line in [`FORMATS`].

mod config;
mod format;
pub(crate) mod gguf;
mod kept;
mod patterns;
mod sentencepiece;
mod steps;
mod tekken;
mod tiktoken;
mod tokenizer_json;
mod vocabulary;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::error::{At, Place, Result};
use crate::file_kind::FileKind;
use crate::tokenizer::added_tokens::ADDED_TOKENS;
use crate::tokenizer::definition::parse;
use crate::tokenizer::named_tokens::ADDED_TOKENS_DECODER;
use crate::tokenizer::{TokenizerFiles, not_a_tokenizer};
use config::TokenizerConfig;
use format::{Converted, Format};
use kept::kept;

/// If a repository has several, the first counts.
static FORMATS: [Format; 3] = [tekken::FORMAT, sentencepiece::FORMAT, tiktoken::FORMAT];

/// The files that repositories without a `tokenizer.json` may have in its place.
pub(crate) fn vocabulary_files() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.files.iter().copied())
}

fn format_of(content: &[u8]) -> Option<&'static Format> {
    let kind = FileKind::of_bytes(content)?;
    FORMATS.iter().find(|format| format.kind == kind)
}

/// Whether a file that begins so is a vocabulary that [`convert`] reads.
pub(crate) fn is_vocabulary(head: &[u8]) -> bool {
    format_of(head).is_some()
}

/// The files of a tokenizer whose vocabulary is in another format. `file` names it, and the other `files` are those
/// beside it.
///
/// # Errors
/// [`crate::ErrorKind::Invalid`] for a damaged file, [`crate::ErrorKind::UnsupportedTokenizer`] for a vocabulary that is used in an
/// unknown way, [`crate::ErrorKind::WrongFile`] for another kind of file.
pub(crate) fn convert(vocabulary: &[u8], file: &str, mut files: TokenizerFiles) -> Result<TokenizerFiles> {
    if let Some(bytes) = files.added_tokens.take() {
        files.tokenizer_config = Some(with_added_tokens(&files, &bytes)?);
    }
    let config: TokenizerConfig = match &files.tokenizer_config {
        Some(bytes) => parse(bytes).at(Place::file(files.place("tokenizer_config.json")))?,
        None => TokenizerConfig::default(),
    };
    let converted = match format_of(vocabulary) {
        Some(format) => {
            kept([Some(vocabulary), files.tokenizer_config.as_deref()], || (format.convert)(vocabulary, &config))
        }
        None => Err(unknown(vocabulary)),
    };
    let Converted { tokenizer_json, special_tokens } = converted.at(Place::file(files.place(file)))?;
    // What the files name comes first.
    let mut config = tokenizer_config(&files)?;
    for (role, token) in special_tokens {
        let named = config.entry(role).or_insert(Value::Null);
        if named.is_null() {
            *named = token.into();
        }
    }
    let tokenizer_config = Some(Value::from(config).to_string().into_bytes());
    Ok(TokenizerFiles { tokenizer_json, converted_from: Some(file.to_owned()), tokenizer_config, ..files })
}

fn tokenizer_config(files: &TokenizerFiles) -> Result<Map<String, Value>> {
    let config = files.tokenizer_config.as_deref().map_or_else(|| Ok(Map::new()), parse);
    config.at(Place::file(files.place("tokenizer_config.json")))
}

fn special_tokens_map(files: &TokenizerFiles) -> Result<Map<String, Value>> {
    let map = files.special_tokens_map.as_deref().map_or_else(|| Ok(Map::new()), parse);
    map.at(Place::file(files.place("special_tokens_map.json")))
}

/// An older `tokenizer_config.json` with the tokens of the files beside it, as newer ones have them.
fn with_added_tokens(files: &TokenizerFiles, added_tokens: &[u8]) -> Result<Vec<u8>> {
    let ids: BTreeMap<String, usize> = parse(added_tokens).at(Place::file(files.place(ADDED_TOKENS)))?;
    let mut config = tokenizer_config(files)?;
    config.extend(special_tokens_map(files)?);
    let decoder = config.entry(ADDED_TOKENS_DECODER).or_insert_with(|| Map::new().into());
    if let Some(decoder) = decoder.as_object_mut() {
        for (content, id) in ids {
            let token = || {
                json!({
                    "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false,
                })
            };
            decoder.entry(id.to_string()).or_insert_with(token);
        }
    }
    Ok(Value::from(config).to_string().into_bytes())
}

fn unknown(content: &[u8]) -> crate::Error {
    match FileKind::of_bytes(content) {
        Some(kind) => not_a_tokenizer::file(kind),
        None => not_a_tokenizer::unknown(),
    }
}
