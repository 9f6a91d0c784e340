//! The contents of a tokenizer's files: `tokenizer.json`, and the optional `tokenizer_config.json`,
//! `special_tokens_map.json` and `generation_config.json`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{At, Error, ErrorKind, Place, Result};
use crate::file_kind::{FileKind, without_bom};
use crate::tokenizer::{AddedToken, TokenId, charsmap, not_a_tokenizer};
use crate::wording;

/// The files of one tokenizer as bytes. Only `tokenizer_json` is required.
#[derive(Debug, Default, Clone)]
pub struct TokenizerFiles {
    /// Where they come from, for messages: a path or a repository.
    pub name: String,
    /// `tokenizer.json`, or what a vocabulary of another format was converted to.
    pub tokenizer_json: Vec<u8>,
    /// `tokenizer_config.json`.
    pub tokenizer_config: Option<Vec<u8>>,
    /// `special_tokens_map.json`.
    pub special_tokens_map: Option<Vec<u8>>,
    /// `generation_config.json`.
    pub generation_config: Option<Vec<u8>>,
}

/// A larger id, twice the largest vocabulary, is taken for a damaged file, because tables are as long as the largest
/// id.
pub(crate) const LARGEST_ID: TokenId = 1 << 21;

/// A tokenizer's files, read and reconciled.
pub(crate) struct Definition {
    /// `tokenizer.json` without its added tokens, and without dropout, which would make ids random.
    pub(crate) json: Value,
    pub(crate) known: Known,
}

/// What the files say besides the model.
#[derive(Serialize, Deserialize)]
pub(crate) struct Known {
    /// Every added token, of both files, by id.
    pub(crate) added: BTreeMap<TokenId, AddedToken>,
    /// One more than the largest id.
    pub(crate) vocab_size: usize,
    /// The id for text that the model has no entry for.
    pub(crate) unk_token_id: Option<TokenId>,
    pub(crate) special: SpecialTokenIds,
    /// Contradictions between the files about a token or id, as sentences.
    pub(crate) conflicts: Vec<String>,
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
        let config: Config = optional(files.tokenizer_config.as_deref()).at(place("tokenizer_config.json"))?;
        let map: Config = optional(files.special_tokens_map.as_deref()).at(place("special_tokens_map.json"))?;
        let generation: GenerationConfig =
            optional(files.generation_config.as_deref()).at(place("generation_config.json"))?;

        if let Some(kind) =
            FileKind::of_json(&json).filter(|kind| *kind != FileKind::Tokenizer && !json["model"].is_object())
        {
            return Err(not_a_tokenizer::file(kind)).at(place("tokenizer.json"));
        }
        charsmap::check(&json["normalizer"]).at("normalizer").at(place("tokenizer.json"))?;
        let vocabulary = Vocabulary::of(&json).at("model.vocab").at(place("tokenizer.json"))?;
        let (added, mut conflicts) =
            added_tokens(&mut json, config.added_tokens_decoder, &vocabulary).at(Place::file(&files.name))?;
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

        let mut id_of = |key: &str, token: Option<TokenName>| {
            let content = token?.into_content();
            let added = added.values().find(|token| token.content == content).map(|token| token.id);
            let id = added.or_else(|| vocabulary.ids.get(content.as_str()).copied());
            if id.is_none() && !content.is_empty() {
                conflicts.push(format!("{key} is {content:?}, but tokenizer.json has no such token; it is ignored"));
            }
            id
        };
        let special = SpecialTokenIds {
            bos: id_of("bos_token", config.bos_token.or(map.bos_token)),
            eos: id_of("eos_token", config.eos_token.or(map.eos_token)),
            pad: id_of("pad_token", config.pad_token.or(map.pad_token)),
            generation_eos: generation.eos_token_id.map(OneOrMany::into_vec).unwrap_or_default(),
        };
        drop(vocabulary);
        Ok(Self { json, known: Known { added, vocab_size, unk_token_id, special, conflicts } })
    }
}

/// The model's own vocabulary: text to id.
struct Vocabulary {
    ids: foldhash::HashMap<String, TokenId>,
    max: Option<TokenId>,
}

impl Vocabulary {
    fn of(json: &Value) -> Result<Self> {
        let bad = |message: String| ErrorKind::UnsupportedTokenizer(message);
        let model = json.get("model").ok_or_else(|| bad("the file has no \"model\"".into()))?;
        let mut ids = foldhash::HashMap::default();
        match model.get("vocab") {
            Some(Value::Object(entries)) => {
                for (token, id) in entries {
                    let id = id.as_u64().filter(|&id| id <= u64::from(LARGEST_ID)).ok_or_else(|| {
                        bad(format!("entry {token:?} has the id {id}, which is not a number from 0 to {LARGEST_ID}"))
                    })?;
                    ids.insert(token.clone(), id as TokenId);
                }
            }
            Some(Value::Array(entries)) => {
                for (id, entry) in entries.iter().enumerate() {
                    let token = entry
                        .get(0)
                        .and_then(Value::as_str)
                        .ok_or_else(|| bad(format!("entry {id} is not a [token, score] pair")))?;
                    ids.insert(token.to_owned(), id as TokenId);
                }
            }
            _ => return Err(bad("the model has no vocabulary".into()).into()),
        }
        let max = ids.values().copied().max();
        Ok(Self { ids, max })
    }
}

/// Removes the added tokens from `json` and combines them with those of the config. A token that is also in the model
/// keeps the model's id, as in both libraries. Every other one has its declared id. The sentences describe
/// contradictions between the files.
fn added_tokens(
    json: &mut Value,
    config: BTreeMap<String, Value>,
    vocabulary: &Vocabulary,
) -> Result<(BTreeMap<TokenId, AddedToken>, Vec<String>)> {
    let listed = json
        .as_object_mut()
        .and_then(|json| json.insert("added_tokens".into(), Value::Array(Vec::new())))
        .filter(|listed| !listed.is_null());
    let listed: Vec<AddedToken> = match listed {
        Some(listed) => serde_path_to_error::deserialize(listed)
            .map_err(|error| Error::from(wording::in_file(error.inner())).at(wording::key_path(error.path())))
            .at("tokenizer.json: added_tokens")?,
        None => Vec::new(),
    };
    let mut known: HashMap<String, TokenId> = HashMap::new();
    let mut added: BTreeMap<TokenId, AddedToken> = BTreeMap::new();
    let mut conflicts = Vec::new();
    let mut add = |token: AddedToken, place: &str| -> Result<()> {
        let id = known.get(&token.content).or(vocabulary.ids.get(&token.content)).copied().unwrap_or(token.id);
        if id != token.id {
            let (content, declared) = (&token.content, token.id);
            conflicts
                .push(format!("{place} gives {content:?} the id {declared}, but elsewhere it is {id}; {id} is used"));
        }
        if known.insert(token.content.clone(), id).is_some() {
            // As in transformers, either file can make it special, so that no content writes it.
            if let Some(before) = added.get_mut(&id) {
                before.special |= token.special;
            }
            return Ok(());
        }
        if id > LARGEST_ID {
            return Err(ErrorKind::UnsupportedTokenizer(format!(
                "{place}: {:?} has the id {id}, which is larger than {LARGEST_ID}",
                token.content
            ))
            .into());
        }
        match added.entry(id) {
            Entry::Vacant(entry) => drop(entry.insert(AddedToken { id, ..token })),
            Entry::Occupied(entry) => {
                let (content, first) = (&token.content, &entry.get().content);
                conflicts.push(format!("{place} gives {content:?} the id {id} of {first:?}; {first:?} is used"));
            }
        }
        Ok(())
    };
    for token in &listed {
        add(token.clone(), "tokenizer.json: added_tokens")?;
    }
    let place = "tokenizer_config.json: added_tokens_decoder";
    let mut declared = Vec::with_capacity(config.len());
    for (id, token) in config {
        let at = format!("{place}[{id:?}]");
        let token: AddedToken = serde_json::from_value(token).map_err(|error| wording::in_file(&error)).at(&at)?;
        let id = id.parse().map_err(|_| ErrorKind::Invalid("the key is not a token id".into())).at(&at)?;
        declared.push(AddedToken { id, ..token });
    }
    declared.sort_by_key(|token| token.id);
    for token in &declared {
        add(token.clone(), place)?;
    }
    // Found in one pass over the vocabulary, which cannot be searched by id.
    let renamed = |id: TokenId| declared.binary_search_by_key(&id, |token| token.id).ok().map(|at| &declared[at]);
    let listed: HashSet<(TokenId, &str)> = listed.iter().map(|token| (token.id, token.content.as_str())).collect();
    let is_listed = |renamed: &AddedToken| listed.contains(&(renamed.id, renamed.content.as_str()));
    for (entry, &id) in &vocabulary.ids {
        let is_conflict = |token: &&AddedToken| token.content != *entry && added.contains_key(&id) && !is_listed(token);
        if let Some(token) = renamed(id).filter(is_conflict) {
            let content = &token.content;
            conflicts.push(format!(
                "{place} gives {content:?} the id {id}, which is {entry:?} in tokenizer.json; {content:?} is used"
            ));
        }
    }
    conflicts.sort();
    Ok((added, conflicts))
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    added_tokens_decoder: BTreeMap<String, Value>,
    bos_token: Option<TokenName>,
    eos_token: Option<TokenName>,
    pad_token: Option<TokenName>,
}

#[derive(Default, Deserialize)]
struct GenerationConfig {
    eos_token_id: Option<OneOrMany>,
}

/// A token given as its string, or as a serialized `AddedToken`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a token as a string, or as an object with the key \"content\"")]
enum TokenName {
    Content(String),
    Token { content: String },
}

impl TokenName {
    fn into_content(self) -> String {
        match self {
            Self::Content(content) | Self::Token { content } => content,
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
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let what = Error::from(wording::in_file(error.inner()));
        if error.path().iter().next().is_none() { what } else { what.at(wording::key_path(error.path())) }
    });
    value.and_then(|value| Ok(json.end().map(|()| value).map_err(|error| wording::in_file(&error))?))
}
