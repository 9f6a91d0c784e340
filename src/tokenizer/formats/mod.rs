//! Tokenizers in other formats than `tokenizer.json`, as the files of a repository that has one.
//!
//! A vocabulary of another format becomes the `tokenizer.json` that transformers would make of it, and what it says of
//! special tokens becomes what `tokenizer_config.json` would say. A new format is a file here and a line in [`convert`].

mod config;
pub(crate) mod gguf;
mod patterns;
mod sentencepiece;
mod tekken;
mod tiktoken;
mod vocabulary;

use serde_json::Value;

use crate::error::{At, ErrorKind, Place, Result};
use crate::file_kind::FileKind;
use crate::tokenizer::definition::parse;
use crate::tokenizer::{TokenizerFiles, not_a_tokenizer};
use config::Config;
use vocabulary::Converted;

/// The files that repositories without a `tokenizer.json` have in its place.
pub(crate) const VOCABULARY_FILES: [&str; 6] =
    ["tekken.json", "tokenizer.model", "tiktoken.model", "qwen.tiktoken", "hy.tiktoken", "spiece.model"];

/// Whether a file that begins so is a vocabulary that [`convert`] reads.
pub(crate) fn is_vocabulary(head: &[u8]) -> bool {
    matches!(FileKind::of_bytes(head), Some(FileKind::SentencePiece | FileKind::Tiktoken | FileKind::Tekken))
}

/// The files of a tokenizer whose vocabulary is in another format: `vocabulary` is its content, and `place` names it. The
/// other `files` are those of its folder.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a damaged file, [`ErrorKind::UnsupportedTokenizer`] for a vocabulary that is used in an
/// unknown way, [`ErrorKind::WrongFile`] for another kind of file.
pub(crate) fn convert(vocabulary: &[u8], place: &str, files: TokenizerFiles) -> Result<TokenizerFiles> {
    let config: Config = match &files.tokenizer_config {
        Some(bytes) => parse(bytes).at(Place::file(files.place("tokenizer_config.json")))?,
        None => Config::default(),
    };
    let converted = match FileKind::of_bytes(vocabulary) {
        Some(FileKind::SentencePiece) => sentencepiece::convert(vocabulary, &config),
        Some(FileKind::Tekken) => tekken::convert(vocabulary),
        Some(FileKind::Tiktoken) => tiktoken::convert(vocabulary, &config),
        Some(kind) => Err(not_a_tokenizer::file(kind)),
        None => Err(ErrorKind::Invalid("metatok does not know the format of this vocabulary".into()).into()),
    };
    let Converted { tokenizer_json, special_tokens } = converted.at(Place::file(place))?;
    let says_nothing = files.tokenizer_config.is_none() && files.special_tokens_map.is_none();
    let own = || {
        let names = special_tokens.into_iter().map(|(name, token)| (name.to_owned(), Value::from(token)));
        Value::Object(names.collect()).to_string().into_bytes()
    };
    let special_tokens_map = if says_nothing { Some(own()) } else { files.special_tokens_map };
    Ok(TokenizerFiles { tokenizer_json, special_tokens_map, ..files })
}
