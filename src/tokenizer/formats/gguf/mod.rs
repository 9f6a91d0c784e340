//! The tokenizer inside a GGUF file, as the files of the repository that it was made from.
//!
//! llama.cpp and its relatives keep vocabulary, merges, special tokens and chat template in one file with the weights. The
//! weights are not read.

mod metadata;
mod pre_tokenizers;
mod vocabulary;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::{At, ErrorKind, Place, Result};
use crate::file_kind::{FileKind, head};
use crate::tokenizer::TokenizerFiles;
use crate::tokenizer::formats::steps::{Prefix, Steps};
use crate::tokenizer::formats::tokenizer_json::{Bpe, TokenizerJson};
use crate::tokenizer::formats::vocabulary::Vocabulary;
use metadata::{Metadata, OTHERWISE, Texts};
use pre_tokenizers::PreTokenizer;
use vocabulary::{listed_merges, merges_by_score, vocabulary};

/// Whether a file is one.
pub(crate) fn is_gguf(path: &Path) -> bool {
    path.is_file() && head(path).is_ok_and(|bytes| FileKind::of_bytes(&bytes) == Some(FileKind::Gguf))
}

/// The only GGUF file with a tokenizer in a folder; none if there are several.
pub(crate) fn only_one(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let has_tokenizer = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The encoder of images has none, nor have the later parts of a model.
        let is_later_part = name.contains("-of-") && !name.contains("-00001-of-");
        name.ends_with(".gguf") && !name.starts_with("mmproj") && !is_later_part
    };
    let mut all = entries.filter(has_tokenizer);
    let only = all.next()?;
    all.next().is_none().then_some(only)
}

/// What a repository's files would say.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a damaged file, [`ErrorKind::UnsupportedTokenizer`] for a kind that is not read.
pub(crate) fn files(path: &Path) -> Result<TokenizerFiles> {
    let name = path.display().to_string();
    read(path, &name).at(Place::file(&name))
}

/// The `tokenizer_config.json` alone.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a damaged file.
pub(crate) fn tokenizer_config(path: &Path) -> Result<Vec<u8>> {
    let read = || -> Result<_> {
        let metadata = metadata(path)?;
        let vocabulary = vocabulary(&metadata)?;
        Ok(SpecialTokens::of(&metadata, &vocabulary).tokenizer_config())
    };
    read().at(Place::file(path.display()))
}

fn metadata(path: &Path) -> Result<Metadata> {
    Metadata::read(BufReader::new(File::open(path)?))
}

fn read(path: &Path, name: &str) -> Result<TokenizerFiles> {
    let metadata = metadata(path)?;
    let vocabulary = vocabulary(&metadata)?;
    let special = SpecialTokens::of(&metadata, &vocabulary);
    let Parts { steps, model, adds_bos } = parts(&metadata, &vocabulary, &special)?;
    let adds = |key: &str, default: bool| metadata.flag(key).unwrap_or(default);
    let bos = special.id("bos").filter(|_| adds("tokenizer.ggml.add_bos_token", adds_bos) || kind(&metadata) == GEMMA4);
    let eos = special.id("eos").filter(|_| adds("tokenizer.ggml.add_eos_token", false));
    let around = [bos, eos].map(|id| vocabulary.with_id(id).into_iter().collect());
    Ok(TokenizerFiles {
        name: name.to_owned(),
        tokenizer_json: TokenizerJson { vocabulary: &vocabulary, steps, model, around }.to_bytes()?,
        converted_from: path.file_name().map(|file| file.to_string_lossy().into_owned()),
        tokenizer_config: Some(special.tokenizer_config()),
        generation_config: Some(json!({"eos_token_id": special.ends()}).to_string().into_bytes()),
        ..TokenizerFiles::default()
    })
}

/// What a `tokenizer.json` has besides special tokens.
struct Parts<'a> {
    steps: Steps,
    model: Bpe<'a>,
    adds_bos: bool,
}

fn parts<'a>(metadata: &'a Metadata, vocabulary: &'a Vocabulary, special: &SpecialTokens<'_>) -> Result<Parts<'a>> {
    match kind(metadata) {
        "gpt2" => {
            let pre_tokenizer = pre_tokenizer(metadata)?;
            let merges = match pre_tokenizer.merges_by_id {
                true => vocabulary.merges_by_id(),
                false => listed_merges(metadata)?,
            };
            Ok(Parts {
                steps: Steps::of_bytes(pre_tokenizer.steps(), pre_tokenizer.nfc),
                model: Bpe::of_bytes(vocabulary, merges, pre_tokenizer.ignore_merges),
                adds_bos: pre_tokenizer.adds_bos,
            })
        }
        LLAMA => {
            let has_prefix = metadata.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
            let prefix = if has_prefix { Prefix::Each } else { Prefix::Nowhere };
            let unk_token = special.id("unknown").and_then(|id| vocabulary.text(id));
            let merges = merges_by_score(metadata, vocabulary)?;
            let model = Bpe::of_characters(vocabulary, merges, unk_token, true);
            Ok(Parts { steps: Steps::of_meta_spaces(Vec::new(), prefix), model, adds_bos: true })
        }
        GEMMA4 => {
            let model = Bpe::of_characters(vocabulary, listed_merges(metadata)?, None, true);
            Ok(Parts { steps: Steps::of_meta_spaces(Vec::new(), Prefix::Nowhere), model, adds_bos: true })
        }
        kind => {
            let what = format!(
                "tokenizer.ggml.model is {kind:?}; of GGUF files metatok reads \"gpt2\", \"llama\" and \"gemma4\""
            );
            Err(ErrorKind::UnsupportedTokenizer(what).with_way_out(OTHERWISE))
        }
    }
}

/// The kind of vocabulary.
fn kind(metadata: &Metadata) -> &str {
    metadata.text("tokenizer.ggml.model").unwrap_or("none")
}

/// The kind of SentencePiece's vocabularies.
const LLAMA: &str = "llama";
const GEMMA4: &str = "gemma4";

fn pre_tokenizer(metadata: &Metadata) -> Result<&'static PreTokenizer> {
    let name = metadata.text("tokenizer.ggml.pre").unwrap_or("default");
    PreTokenizer::named(name).ok_or_else(|| {
        let what = match name {
            "default" => "it does not say how text is cut (tokenizer.ggml.pre)".to_owned(),
            _ => format!("tokenizer.ggml.pre is {name:?}, which metatok does not know"),
        };
        ErrorKind::UnsupportedTokenizer(what).with_way_out(OTHERWISE)
    })
}

/// The tokens with a role, and the chat template.
struct SpecialTokens<'a> {
    metadata: &'a Metadata,
    vocabulary: &'a Vocabulary,
    /// Whether missing ids default to Llama's.
    has_llama_ids: bool,
}

/// The tokens at which llama.cpp ends an answer, whatever the file says.
const END_OF_ANSWER: [&str; 19] = [
    "</s>",
    "<|eot_id|>",
    "<|im_end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    END,
];
/// An end, unless a model has `<|return|>`: then it ends a part of an answer.
const END: &str = "<|end|>";

impl<'a> SpecialTokens<'a> {
    fn of(metadata: &'a Metadata, vocabulary: &'a Vocabulary) -> Self {
        Self { metadata, vocabulary, has_llama_ids: kind(metadata) == LLAMA }
    }

    fn id(&self, role: &str) -> Option<usize> {
        let usual = match role {
            "unknown" => Some(0),
            "bos" => Some(1),
            "eos" => Some(2),
            _ => None,
        };
        let given = self.metadata.index(&format!("tokenizer.ggml.{role}_token_id"));
        given.or(usual.filter(|_| self.has_llama_ids)).filter(|id| *id < self.vocabulary.len())
    }

    /// The ids at which answers end, in order.
    fn ends(&self) -> Vec<usize> {
        let added = || self.vocabulary.added().map(|(id, token)| (id, token.text.as_str()));
        let has_return = added().any(|(_, token)| token == "<|return|>");
        let is_end = |token: &str| END_OF_ANSWER.contains(&token) && !(has_return && token == END);
        let known = added().filter(|(_, token)| is_end(token)).map(|(id, _)| id);
        let mut ends: Vec<usize> = Vec::new();
        for id in ["eos", "eot", "eom"].into_iter().filter_map(|role| self.id(role)).chain(known) {
            if !ends.contains(&id) {
                ends.push(id);
            }
        }
        ends
    }

    /// As bytes of JSON.
    fn tokenizer_config(&self) -> Vec<u8> {
        let mut config = Map::new();
        for (role, key) in
            [("bos", "bos_token"), ("eos", "eos_token"), ("unknown", "unk_token"), ("padding", "pad_token")]
        {
            if let Some(token) = self.id(role).and_then(|id| self.vocabulary.text(id)) {
                config.insert(key.into(), token.into());
            }
        }
        if let Some(template) = self.chat_templates() {
            config.insert("chat_template".into(), template);
        }
        Value::from(config).to_string().into_bytes()
    }

    /// The chat template, or all of them with their names.
    fn chat_templates(&self) -> Option<Value> {
        const KEY: &str = "tokenizer.chat_template";
        let default = self.metadata.text(KEY);
        let names = self.metadata.texts("tokenizer.chat_templates").into_iter().flat_map(Texts::iter);
        let named = names.filter_map(|name| Some((name, self.metadata.text(&format!("{KEY}.{name}"))?)));
        let others: Vec<_> = named.collect();
        if others.is_empty() {
            return default.map(Value::from);
        }
        let all = default.map(|template| ("default", template)).into_iter().chain(others);
        Some(all.map(|(name, template)| json!({"name": name, "template": template})).collect())
    }
}
