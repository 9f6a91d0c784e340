//! The contents of a tokenizer's files: `tokenizer.json`, and the optional `tokenizer_config.json`,
//! `special_tokens_map.json`, `generation_config.json` and `added_tokens.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{At, ErrorKind, Place, Result};
use crate::file_kind::{FileKind, without_bom};
use crate::tokenizer::added_tokens::{ADDED_TOKENS, AddedTokens};
use crate::tokenizer::model_vocabulary::{LARGEST_ID, Vocabulary};
use crate::tokenizer::named_tokens::{ADDED_TOKENS_DECODER, NamedTokens};
use crate::tokenizer::{AddedToken, TokenId, charsmap, not_a_tokenizer};
use crate::wording;

/// The files of one tokenizer as bytes. Only `tokenizer_json` is required.
#[derive(Debug, Default, Clone)]
pub struct TokenizerFiles {
    /// Where they come from, for messages: a path or a repository.
    pub name: String,
    /// `tokenizer.json`, or what a vocabulary of another format was converted to.
    pub tokenizer_json: Vec<u8>,
    /// The vocabulary that it was converted from, if it was.
    pub converted_from: Option<String>,
    /// `tokenizer_config.json`.
    pub tokenizer_config: Option<Vec<u8>>,
    /// `special_tokens_map.json`.
    pub special_tokens_map: Option<Vec<u8>>,
    /// `generation_config.json`.
    pub generation_config: Option<Vec<u8>>,
    /// `added_tokens.json`, where older repositories have tokens that `tokenizer.json` may lack.
    pub added_tokens: Option<Vec<u8>>,
}

/// A tokenizer's files, read and reconciled.
pub(crate) struct Definition {
    /// `tokenizer.json` without its added tokens, and without dropout, which would make ids random.
    pub(crate) json: Value,
    pub(crate) known: Known,
}

/// What the files say besides the model.
#[derive(Serialize, Deserialize)]
pub(crate) struct Known {
    /// Every added token, of all files, by id.
    pub(crate) added: BTreeMap<TokenId, AddedToken>,
    /// One more than the largest id.
    pub(crate) vocab_size: usize,
    /// The id for text that the model has no entry for.
    pub(crate) unk_token_id: Option<TokenId>,
    pub(crate) special: SpecialTokenIds,
    /// Contradictions between the files about a token or id, as sentences.
    pub(crate) conflicts: Vec<String>,
    /// Whether the repository brings a tokenizer in Python and none in Rust: `"AutoTokenizer": [class, null]`.
    pub(crate) is_in_python: bool,
}

/// The special tokens that the files name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpecialTokenIds {
    /// `bos_token` of `tokenizer_config.json` or `special_tokens_map.json`.
    pub bos: Option<TokenId>,
    /// `eos_token` of `tokenizer_config.json` or `special_tokens_map.json`.
    pub eos: Option<TokenId>,
    /// `pad_token` of `tokenizer_config.json` or `special_tokens_map.json`.
    pub pad: Option<TokenId>,
    /// `eos_token_id` of `generation_config.json`, which may be a list.
    pub generation_eos: Vec<TokenId>,
}

impl Definition {
    pub(crate) fn read(files: &TokenizerFiles) -> Result<Self> {
        let place = |file| Place::file(files.place(file));
        let mut json: Value = parse(&files.tokenizer_json).at(place("tokenizer.json"))?;
        let mut config: Map<String, Value> =
            optional(files.tokenizer_config.as_deref()).at(place("tokenizer_config.json"))?;
        let map: Map<String, Value> =
            optional(files.special_tokens_map.as_deref()).at(place("special_tokens_map.json"))?;
        let older = files.added_tokens.as_deref().filter(|_| !config.contains_key(ADDED_TOKENS_DECODER));
        let older: BTreeMap<String, TokenId> = optional(older).at(place(ADDED_TOKENS))?;
        let generation: GenerationConfig =
            optional(files.generation_config.as_deref()).at(place("generation_config.json"))?;
        let generation_eos = generation.eos().at("eos_token_id").at(place("generation_config.json"))?;

        if let Some(kind) =
            FileKind::of_json(&json).filter(|kind| *kind != FileKind::Tokenizer && !json["model"].is_object())
        {
            return Err(not_a_tokenizer::file(kind)).at(place("tokenizer.json"));
        }
        charsmap::check(&json["normalizer"]).at("normalizer").at(place("tokenizer.json"))?;
        let vocabulary = Vocabulary::of(&json).at("model.vocab").at(place("tokenizer.json"))?;
        NamedTokens::check(&config).at(place("tokenizer_config.json"))?;
        NamedTokens::check(&map).at(place("special_tokens_map.json"))?;
        // Once the classes were all of `auto_map`.
        let classes = config.get("auto_map").map(|map| map.get("AutoTokenizer").unwrap_or(map));
        let is_in_python = match classes.and_then(Value::as_array).map(Vec::as_slice) {
            Some([Value::String(class), Value::Null]) => !class.ends_with("Fast"),
            _ => false,
        };
        let named = NamedTokens::of(&config, &map);
        let mut tokens = AddedTokens::new(&vocabulary);
        let add = || {
            tokens.add_listed(&mut json)?;
            tokens.add_declared(&mut config, &json["model"])?;
            tokens.add_older(older, &named)?;
            tokens.add_named(&named)
        };
        add().at(Place::file(&files.name))?;
        let (added, conflicts) = tokens.finish();
        let vocab_size = added.keys().next_back().copied().max(vocabulary.max).map_or(0, |id| id as usize + 1);

        let model = json.get_mut("model").and_then(Value::as_object_mut);
        let unk_token_id = model.and_then(|model| {
            model.insert("dropout".into(), Value::Null);
            match (model.get("unk_token"), model.get("unk_id")) {
                (Some(Value::String(unk)), _) => vocabulary.ids.get(unk.as_str()).copied(),
                (_, Some(id)) => id.as_u64().and_then(|id| TokenId::try_from(id).ok()),
                _ => None,
            }
        });
        let id_of = |name: &str| {
            let content = named.content(name)?;
            let added = added.values().find(|token| token.content == content).map(|token| token.id);
            added.or_else(|| vocabulary.ids.get(content).copied())
        };
        let special = SpecialTokenIds {
            bos: id_of("bos_token"),
            eos: id_of("eos_token"),
            pad: id_of("pad_token"),
            generation_eos,
        };
        drop(vocabulary);
        Ok(Self { json, known: Known { added, vocab_size, unk_token_id, special, conflicts, is_in_python } })
    }
}

#[derive(Default, Deserialize)]
struct GenerationConfig {
    eos_token_id: Option<OneOrMany>,
}

impl GenerationConfig {
    /// The ids, which need not be in the vocabulary: models have room for more.
    fn eos(self) -> Result<Vec<TokenId>> {
        let ids = self.eos_token_id.map(OneOrMany::into_vec).unwrap_or_default();
        match ids.iter().find(|id| **id > LARGEST_ID) {
            Some(id) => {
                let what = format!("the id {id} is larger than that of any model, at most {LARGEST_ID}");
                Err(ErrorKind::Invalid(what).with_way_out("use the file of the model's repository"))
            }
            None => Ok(ids),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a token id or a list of token ids")]
enum OneOrMany {
    One(TokenId),
    Many(Vec<TokenId>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<TokenId> {
        match self {
            Self::One(id) => vec![id],
            Self::Many(ids) => ids,
        }
    }
}

fn optional<T: Default + for<'de> Deserialize<'de>>(bytes: Option<&[u8]>) -> Result<T> {
    bytes.map_or_else(|| Ok(T::default()), parse)
}

/// Reads JSON; if it is another kind of file, the error says which.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T> {
    parse_json(bytes).map_err(|error| FileKind::of_bytes(bytes).map_or(error, not_a_tokenizer::file))
}

/// Reads JSON.
pub(crate) fn parse_json<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T> {
    let bytes = without_bom(bytes);
    // Only an error needs its path, and keeping track of that takes longer than reading a vocabulary.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| wording::at_path(wording::in_file(error.inner()).into(), error.path()));
    value.and_then(|value| Ok(json.end().map(|()| value).map_err(|error| wording::in_file(&error))?))
}
