//! What a format of vocabularies is.

use crate::error::Result;
use crate::file_kind::FileKind;
use crate::tokenizer::formats::config::TokenizerConfig;

/// A format of vocabularies.
pub(super) struct Format {
    pub(super) kind: FileKind,
    /// What its files are called in repositories.
    pub(super) files: &'static [&'static str],
    /// Converts the content of such a file.
    pub(super) convert: fn(&[u8], &TokenizerConfig) -> Result<Converted>,
}

/// A vocabulary as the files of a repository that has a `tokenizer.json`.
pub(super) struct Converted {
    pub(super) tokenizer_json: Vec<u8>,
    /// The special tokens by role, for repositories that do not name them.
    pub(super) special_tokens: Vec<(String, String)>,
}
