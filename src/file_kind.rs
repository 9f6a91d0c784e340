//! Names the kind of a file where another kind was expected.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

/// The kind of a file, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Empty,
    LfsPointer,
    Html,
    /// With the program that unpacks it.
    Compressed(&'static str),
    Zip,
    Gguf,
    Safetensors,
    SentencePiece,
    Tiktoken,
    Tokenizer,
    TokenizerConfig,
    ModelConfig,
    GenerationConfig,
    Vocabulary,
    Tekken,
    WeightsIndex,
    ModelFile,
}

/// The beginning of a file, which is enough to recognize most kinds.
pub(crate) fn head(path: &Path) -> io::Result<Vec<u8>> {
    head_of(File::open(path)?)
}

/// The same of an open file, or of a pipe.
pub(crate) fn head_of(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(1 << 12).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file's name has one of these extensions, in capital or small letters.
pub(crate) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let found = path.extension().unwrap_or_default();
    extensions.iter().any(|extension| found.eq_ignore_ascii_case(extension))
}

/// UTF-8's byte order mark, which may begin a text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a text without the byte order mark.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

impl FileKind {
    /// The kind of a file, from its first bytes; none if only its reader can tell.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let text = without_bom(bytes).trim_ascii_start();
        let starts =
            |start: &str| text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start.as_bytes()));
        Some(match bytes {
            _ if text.is_empty() => Self::Empty,
            _ if starts("version https://git-lfs") => Self::LfsPointer,
            _ if starts("<!doctype html") || starts("<html") => Self::Html,
            [0x1f, 0x8b, ..] => Self::Compressed("gunzip"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Compressed("zstd -d"),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Self::Compressed("unxz"),
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            [b'G', b'G', b'U', b'F', ..] => Self::Gguf,
            // The length of what follows, which is JSON.
            [_, _, _, _, _, 0, 0, 0, b'{', ..] => Self::Safetensors,
            // A Protocol Buffers message: a first piece, with its text and then its score or type.
            [0x0a, _, 0x0a, length, rest @ ..] if matches!(rest.get(usize::from(*length)), Some(0x15 | 0x18)) => {
                Self::SentencePiece
            }
            _ if is_tiktoken(bytes) => Self::Tiktoken,
            _ if is_tekken(text) => Self::Tekken,
            _ => return None,
        })
    }

    /// The kind of a JSON file, from its keys.
    pub(crate) fn of_json(json: &Value) -> Option<Self> {
        let object = json.as_object()?;
        let has = |key: &str| object.contains_key(key);
        // Any word may be in a vocabulary, also the keys of the others.
        Some(if object.len() > 100 && object.values().all(Value::is_u64) {
            Self::Vocabulary
        } else if has("model") && has("added_tokens") {
            Self::Tokenizer
        } else if has("weight_map") {
            Self::WeightsIndex
        } else if has("tokenizer_class") || has("added_tokens_decoder") || has("chat_template") {
            Self::TokenizerConfig
        } else if has("model_type") || has("architectures") {
            Self::ModelConfig
        } else if has("config") && has("vocab") {
            Self::Tekken
        } else if has("meta_template") || has("round") || has("sep_style") {
            Self::ModelFile
        } else if has("eos_token_id") || has("transformers_version") {
            Self::GenerationConfig
        } else {
            return None;
        })
    }

    /// The kind in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "an empty file",
            Self::LfsPointer => "a Git LFS pointer, not the file itself",
            Self::Html => "an HTML page",
            Self::Compressed(_) => "compressed",
            Self::Zip => "a ZIP archive, as PyTorch's weights are",
            Self::Gguf => "a GGUF model",
            Self::Safetensors => "a file of weights (safetensors)",
            Self::SentencePiece => "a SentencePiece model (tokenizer.model)",
            Self::Tiktoken => "a tiktoken vocabulary",
            Self::Tokenizer => "a tokenizer (tokenizer.json)",
            Self::TokenizerConfig => "a tokenizer_config.json",
            Self::ModelConfig => "a model's config.json",
            Self::GenerationConfig => "a generation_config.json",
            Self::Vocabulary => "a bare vocabulary (vocab.json)",
            Self::Tekken => "Mistral's tekken.json",
            Self::WeightsIndex => "an index of weights (model.safetensors.index.json)",
            Self::ModelFile => "a model file: a template, not a tokenizer",
        }
    }

    /// How to get the right file, if that does not depend on what is wanted.
    pub(crate) fn remedy(self) -> Option<String> {
        Some(match self {
            Self::Empty => "write or fetch it again".into(),
            Self::LfsPointer => "run `git lfs pull` in the cloned repository".into(),
            Self::Html => {
                "the download returned a web page instead of the file; on the hub, a file's address contains /resolve/, not /blob/, and a gated repository needs a token".into()
            }
            Self::Compressed(program) => format!("unpack it first, with `{program}`"),
            _ => return None,
        })
    }
}

/// Whether JSON looks like `tekken.json`: no other format has these keys.
fn is_tekken(text: &[u8]) -> bool {
    let has = |key: &str| memchr::memmem::find(text, key.as_bytes()).is_some();
    text.first() == Some(&b'{') && (has("\"default_num_special_tokens\"") || has("\"token_bytes\""))
}

/// Lines of a base64 string and a number.
fn is_tiktoken(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(token), Some(rank), None) = (words.next(), words.next(), words.next()) else { return false };
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    token.len() % 4 == 0 && !token.is_empty() && token.iter().all(is_base64) && rank.trim_ascii_end() == b"0"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds() {
        use FileKind::*;
        #[rustfmt::skip]
        let table: &[(&[u8], Option<FileKind>)] = &[
            (b"", Some(Empty)), (b" \n", Some(Empty)),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", Some(LfsPointer)),
            (b"\n<!DOCTYPE html><html>", Some(Html)), (b"<html lang=en>", Some(Html)),
            (b"\x1f\x8b\x08\x00", Some(Compressed("gunzip"))), (b"\x28\xb5\x2f\xfd\x04", Some(Compressed("zstd -d"))),
            (b"PK\x03\x04", Some(Zip)), (b"GGUF\x03\x00\x00\x00", Some(Gguf)),
            (b"\x40\x01\0\0\0\0\0\0{\"__metadata__\"", Some(Safetensors)),
            (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", Some(SentencePiece)),
            (b"IQ== 0\nIg== 1\n", Some(Tiktoken)),
            (b"{\"model\": {}}", None), (b"a b\n", None), (b"\n#\n# A model.\n", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(FileKind::of_bytes(bytes), *expected, "{}", bytes.escape_ascii());
        }
        let vocabulary: serde_json::Map<_, _> =
            (0..200).map(|id| (if id == 0 { "round".into() } else { format!("t{id}") }, id.into())).collect();
        #[rustfmt::skip]
        let table = [
            (json!({ "version": "1.0", "added_tokens": [], "model": {} }), Some(Tokenizer)),
            (json!({ "tokenizer_class": "LlamaTokenizer" }), Some(TokenizerConfig)),
            (json!({ "model_type": "qwen3", "eos_token_id": 1 }), Some(ModelConfig)),
            (json!({ "eos_token_id": [1], "transformers_version": "4" }), Some(GenerationConfig)),
            (json!({ "metadata": {}, "weight_map": {} }), Some(WeightsIndex)),
            (json!({ "config": {}, "vocab": [] }), Some(Tekken)),
            (json!({ "round": [], "eos_token_id": 1 }), Some(ModelFile)),
            (Value::Object(vocabulary), Some(Vocabulary)),
            (json!({ "a": 1 }), None), (json!([]), None),
        ];
        for (json, expected) in table {
            assert_eq!(FileKind::of_json(&json), expected, "{json}");
        }
    }
}
