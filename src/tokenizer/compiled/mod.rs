//! What was made of a tokenizer's files, kept for the next time: reading a vocabulary of a hundred thousand entries takes
//! longer than most commands.
//!
//! Each entry is a file in a folder of the user's caches, named after a hash of the tokenizer's files. It may be deleted at
//! any time. One that is damaged, or of another version, is made anew.

mod blocks;
mod folder;

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub(crate) use blocks::{BlockReader, BlockWriter};
pub use folder::TokenizerCache;
pub(crate) use folder::{get, put};

use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::definition::{Known, parse_json};

/// Another form of the files, or another version of metatok, begins otherwise.
const MARK: &str = concat!("metatok tokenizer 21, ", env!("CARGO_PKG_VERSION"), "\n");

/// What is kept of a tokenizer besides its vocabulary.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    /// `tokenizer.json` without vocabulary, merges and added tokens.
    pub(crate) json: Value,
    pub(crate) known: Known,
    /// The tokenizer's part of a fingerprint.
    pub(crate) digest: String,
}

/// The name of a tokenizer's file: all that its ids depend on.
pub(crate) fn key(files: &TokenizerFiles) -> String {
    let config = files.tokenizer_config.as_deref().map(without_chat_template);
    let others = [&files.special_tokens_map, &files.generation_config, &files.added_tokens];
    let first = [Some(&files.tokenizer_json[..]), config.as_deref()];
    key_of(first.into_iter().chain(others.map(Option::as_deref)))
}

/// A `tokenizer_config.json` without the chat template, on which ids do not depend, and which people edit.
fn without_chat_template(config: &[u8]) -> Cow<'_, [u8]> {
    let Ok(mut keys) = parse_json::<Map<String, Value>>(config) else { return config.into() };
    match keys.remove("chat_template") {
        Some(_) => Value::from(keys).to_string().into_bytes().into(),
        None => config.into(),
    }
}

/// The name of what was made of these files.
pub(crate) fn key_of<'f>(files: impl IntoIterator<Item = Option<&'f [u8]>>) -> String {
    let mut hash = Sha256::new();
    hash.update(MARK);
    for file in files {
        // A missing file must hash differently from an empty one.
        hash.update(file.map_or(u64::MAX, |file| file.len() as u64).to_le_bytes());
        hash.update(file.unwrap_or_default());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a file. `tables` writes the vocabulary.
pub(crate) fn write(head: &Head, tables: impl FnOnce(&mut BlockWriter)) -> Option<Vec<u8>> {
    let mut blocks = BlockWriter::default();
    blocks.bytes(&serde_json::to_vec(head).ok()?);
    tables(&mut blocks);
    Some(sealed(&blocks))
}

/// What a file holds; none if it is damaged or of another version.
pub(crate) fn read(bytes: &[u8]) -> Option<(Head, BlockReader<'_>)> {
    let mut blocks = opened(bytes)?;
    let head = serde_json::from_slice(blocks.bytes()?).ok()?;
    Some((head, blocks))
}

/// The bytes of a file with these blocks.
pub(crate) fn sealed(blocks: &BlockWriter) -> Vec<u8> {
    [MARK.as_bytes(), &checksum(&blocks.0), &blocks.0].concat()
}

/// The blocks of a file; none if it is damaged or of another version.
pub(crate) fn opened(bytes: &[u8]) -> Option<BlockReader<'_>> {
    let (sum, blocks) = bytes.strip_prefix(MARK.as_bytes())?.split_first_chunk()?;
    (checksum(blocks) == *sum).then_some(BlockReader(blocks))
}

/// Tells damage, not forgery: who can write to the folder of caches can do worse.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    FixedState::with_seed(0).hash_one(bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::tokenizer::Tokenizer;

    fn of(json: &Value) -> TokenizerFiles {
        TokenizerFiles {
            name: "made".into(),
            tokenizer_json: json.to_string().into_bytes(),
            ..TokenizerFiles::default()
        }
    }

    /// SentencePiece's characters and bytes, with a merge of each kind.
    fn characters() -> TokenizerFiles {
        let bytes = (0..=255_u8).map(|byte| format!("<0x{byte:02X}>"));
        let entries = bytes.chain(["▁", "a", "b", "▁a", "ab", "▁ab"].map(str::to_owned));
        let vocab: serde_json::Map<String, Value> = entries.zip(0..).map(|(entry, id)| (entry, json!(id))).collect();
        let merges = [["▁", "a"], ["a", "b"], ["▁a", "b"]];
        of(&json!({
            "added_tokens": [{"id": 300, "content": "<end>", "special": true}],
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": null, "post_processor": null,
            "decoder": {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            "model": {"type": "BPE", "byte_fallback": true, "vocab": vocab, "merges": merges},
        }))
    }

    fn demo() -> TokenizerFiles {
        Tokenizer::files("demo").expect("it is embedded")
    }

    fn same(kept: &Tokenizer, fresh: &Tokenizer) {
        for text in ["", "a ab  abc\n", "<end><|im_start|>user\nWhat is 12 and 3.5?", "Grüße 🎉 中文", "x y"] {
            let ids = fresh.encode(text).expect("it encodes");
            assert_eq!(kept.encode(text).expect("it encodes"), ids, "{text:?}");
            assert_eq!(kept.decode(&ids, false).expect("it decodes"), fresh.decode(&ids, false).expect("it decodes"));
        }
        assert_eq!(kept.digest(), fresh.digest());
        assert!(kept.added_tokens().eq(fresh.added_tokens()));
        assert_eq!((kept.vocab_size(), kept.special_token_ids()), (fresh.vocab_size(), fresh.special_token_ids()));
    }

    fn kept(folder: &Path, files: &TokenizerFiles) -> Tokenizer {
        Tokenizer::kept_in(folder, files.clone()).expect("it loads")
    }

    #[test]
    fn what_is_kept_is_what_was_read() {
        for files in [demo(), characters()] {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let fresh = Tokenizer::new(&files).expect("it loads");
            assert_eq!(fresh.backend().0, "metatok");
            let path = folder.path().join(format!("{}.tokenizer", key(&files)));
            for _ in 0..2 {
                same(&kept(folder.path(), &files), &fresh);
                assert!(read(&std::fs::read(&path).expect("it was kept")).is_some());
            }
        }
    }

    #[test]
    fn what_is_damaged_is_made_anew() {
        let files = demo();
        let fresh = Tokenizer::new(&files).expect("it loads");
        let folder = tempfile::tempdir().expect("a folder can be made");
        drop(kept(folder.path(), &files));
        let path = folder.path().join(format!("{}.tokenizer", key(&files)));
        let whole = std::fs::read(&path).expect("it was kept");
        let places = (0..40).map(|i| (i * i * 31) % whole.len());
        for place in places {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            for damaged in [&flipped[..], &whole[..place]] {
                assert!(read(damaged).is_none());
                std::fs::write(&path, damaged).expect("it can be written");
                same(&kept(folder.path(), &files), &fresh);
                assert!(std::fs::read(&path).expect("it was kept") == whole);
            }
        }
    }

    #[test]
    fn other_files_have_other_keys() {
        let files = demo();
        let mut others = vec![files.clone(), characters(), of(&json!({}))];
        others.push(TokenizerFiles { generation_config: None, ..files.clone() });
        others.push(TokenizerFiles { special_tokens_map: Some(Vec::new()), ..files.clone() });
        others.push(TokenizerFiles { added_tokens: Some(Vec::new()), ..files.clone() });
        let moved = TokenizerFiles {
            tokenizer_config: files.generation_config.clone(),
            generation_config: files.tokenizer_config.clone(),
            ..files.clone()
        };
        others.push(moved);
        let mut keys: Vec<String> = others.iter().map(key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), others.len());
        assert_eq!(key(&TokenizerFiles { name: "elsewhere".into(), ..files.clone() }), key(&files));
    }

    #[test]
    fn a_chat_template_is_not_of_the_key() {
        let with = |template: &str| {
            let config = json!({"chat_template": template, "eos_token": "<|im_end|>"}).to_string();
            TokenizerFiles { tokenizer_config: Some(config.into_bytes()), ..demo() }
        };
        let folder = tempfile::tempdir().expect("a folder can be made");
        for template in ["{{ a }}", "{{ b }}"] {
            let files = with(template);
            let tokenizer = kept(folder.path(), &files);
            assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 1);
            // What is kept has no files: the template is the one that was given now.
            assert_eq!(tokenizer.source().tokenizer_config, files.tokenizer_config);
            same(&tokenizer, &Tokenizer::new(&files).expect("it loads"));
        }
        // Any other key is, and so is a file that cannot be read.
        let others =
            [&br#"{"eos_token": "<|im_end|>", "bos_token": "a"}"#[..], br#"{"chat_template": "{{ a }}""#, b"{}"];
        for other in others {
            let other = TokenizerFiles { tokenizer_config: Some(other.to_vec()), ..demo() };
            assert_ne!(key(&other), key(&with("{{ a }}")));
        }
    }

    #[test]
    fn what_a_library_encodes_is_the_same_and_not_kept() {
        let files = of(&json!({
            "added_tokens": [{"id": 2, "content": "<end>", "special": true}],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": {"?": 0, "a": 1}, "unk_token": "?"},
        }));
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (tokenizer, fresh) = (kept(folder.path(), &files), Tokenizer::new(&files).expect("it loads"));
        assert_ne!(fresh.backend().0, "metatok");
        assert_eq!(tokenizer.backend(), fresh.backend());
        same(&tokenizer, &fresh);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let files = demo();
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        same(&kept(file.path(), &files), &Tokenizer::new(&files).expect("it loads"));
    }
}
