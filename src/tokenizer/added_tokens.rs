//! Collects the added tokens of a tokenizer's files, each with one id.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::model_vocabulary::{LARGEST_ID, Vocabulary};
use crate::tokenizer::named_tokens::{ADDED_TOKENS_DECODER, NamedTokens};
use crate::tokenizer::{AddedToken, TokenId};
use crate::wording;

/// Where older repositories have the ids of tokens that their vocabulary lacks.
pub(crate) const ADDED_TOKENS: &str = "added_tokens.json";

/// How the contradiction ends in which a token has the id of ordinary text.
pub(crate) const BOTH: &str = "texts of both have it";

const LISTED: &str = "tokenizer.json: added_tokens";
const IN_CONFIG: &str = "tokenizer_config.json: added_tokens_decoder";

/// The added tokens of several files. A token that is also in the model keeps the model's id, as in both libraries.
/// Every other one has its declared id.
pub(crate) struct AddedTokens<'v> {
    vocabulary: &'v Vocabulary,
    ids: HashMap<String, TokenId>,
    added: BTreeMap<TokenId, AddedToken>,
    /// Those of `tokenizer.json`, as declared.
    listed: HashSet<(TokenId, String)>,
    /// Contradictions between the files, as sentences.
    conflicts: Vec<String>,
}

/// An added token with the id of an entry of the model.
struct Renamed<'v, 't> {
    content: &'t str,
    id: TokenId,
    entry: &'v str,
    /// Whether a text may become this entry.
    is_written: bool,
}

impl<'v> AddedTokens<'v> {
    pub(crate) fn new(vocabulary: &'v Vocabulary) -> Self {
        let (ids, added, listed) = (HashMap::new(), BTreeMap::new(), HashSet::new());
        Self { vocabulary, ids, added, listed, conflicts: Vec::new() }
    }

    /// Moves the added tokens of `tokenizer.json` here.
    pub(crate) fn add_listed(&mut self, json: &mut Value) -> Result<()> {
        let listed = json
            .as_object_mut()
            .and_then(|json| json.insert("added_tokens".into(), Value::Array(Vec::new())))
            .filter(|listed| !listed.is_null());
        let listed: Vec<AddedToken> = match listed {
            Some(listed) => serde_path_to_error::deserialize(listed)
                .map_err(|error| wording::at_path(wording::in_file(error.inner()).into(), error.path()))
                .at(LISTED)?,
            None => Vec::new(),
        };
        for token in &listed {
            self.listed.insert((token.id, token.content.clone()));
            self.add(token.clone(), LISTED)?;
        }
        for Renamed { content, id, entry, is_written } in self.renamed(&listed, &json["model"]) {
            // An entry that no text becomes is a place that was kept for the token.
            if is_written {
                self.conflicts
                    .push(format!("{LISTED} gives {content:?} the id {id}, which is {entry:?} in model.vocab; {BOTH}"));
            }
        }
        Ok(())
    }

    /// Adds those of `tokenizer_config.json`. `model` is that of `tokenizer.json`.
    pub(crate) fn add_declared(&mut self, config: &mut Map<String, Value>, model: &Value) -> Result<()> {
        let declared: BTreeMap<String, Value> = match config.remove(ADDED_TOKENS_DECODER) {
            Some(declared) => {
                serde_json::from_value(declared).map_err(|error| wording::in_file(&error)).at(IN_CONFIG)?
            }
            None => return Ok(()),
        };
        let token = |(id, token): (String, Value)| -> Result<AddedToken> {
            let token: AddedToken = serde_json::from_value(token).map_err(|error| wording::in_file(&error))?;
            let id = id.parse().map_err(|_| ErrorKind::Invalid("the key is not a token id".into()))?;
            Ok(AddedToken { id, ..token })
        };
        let declared = declared.into_iter().map(|entry| {
            let at = format!("{IN_CONFIG}[{:?}]", entry.0);
            token(entry).at(at)
        });
        let mut declared = declared.collect::<Result<Vec<_>>>()?;
        declared.sort_by_key(|token| token.id);
        for token in &declared {
            self.add(token.clone(), IN_CONFIG)?;
        }
        for Renamed { content, id, entry, is_written } in self.renamed(&declared, model) {
            let outcome = match (is_written, self.listed.contains(&(id, content.to_owned()))) {
                (true, false) => BOTH.to_owned(),
                // As in InternLM2, whose vocabulary has names without a meaning there.
                (false, false) => format!("{content:?} is used"),
                (_, true) => continue,
            };
            self.conflicts.push(format!(
                "{IN_CONFIG} gives {content:?} the id {id}, which is {entry:?} in tokenizer.json; {outcome}"
            ));
        }
        Ok(())
    }

    /// Adds those of an [`ADDED_TOKENS`], which are special if they are named so.
    pub(crate) fn add_older(&mut self, older: BTreeMap<String, TokenId>, named: &NamedTokens) -> Result<()> {
        let special: HashSet<&str> = named.all().map(|(_, token)| &*token.content).collect();
        let mut older: Vec<_> = older.into_iter().collect();
        older.sort_by_key(|(_, id)| *id);
        for (content, id) in older {
            let special = special.contains(&*content);
            let token = AddedToken { id, content, special, normalized: !special, ..AddedToken::default() };
            self.add(token, ADDED_TOKENS)?;
        }
        Ok(())
    }

    /// Adds the special tokens that the files name. Only the model's vocabulary can say their ids.
    pub(crate) fn add_named(&mut self, named: &NamedTokens) -> Result<()> {
        for (name, token) in named.all() {
            let content = &token.content;
            if content.is_empty() || self.ids.contains_key(content) {
                continue;
            }
            match self.vocabulary.ids.get(content) {
                Some(&id) => self.add(AddedToken { id, ..token.clone() }, name)?,
                None => self
                    .conflicts
                    .push(format!("{name} is {content:?}, but tokenizer.json has no such token; it is ignored")),
            }
        }
        Ok(())
    }

    /// The added tokens by id, and the contradictions.
    pub(crate) fn finish(mut self) -> (BTreeMap<TokenId, AddedToken>, Vec<String>) {
        self.conflicts.sort();
        self.conflicts.dedup();
        (self.added, self.conflicts)
    }

    fn add(&mut self, token: AddedToken, place: &str) -> Result<()> {
        let known = self.ids.get(&token.content).or(self.vocabulary.ids.get(&token.content));
        let id = known.copied().unwrap_or(token.id);
        if id != token.id {
            let (content, declared) = (&token.content, token.id);
            self.conflicts
                .push(format!("{place} gives {content:?} the id {declared}, but elsewhere it is {id}; {id} is used"));
        }
        if self.ids.insert(token.content.clone(), id).is_some() {
            // As in transformers, either file can make it special, so that no content writes it.
            if let Some(before) = self.added.get_mut(&id) {
                before.special |= token.special;
            }
            return Ok(());
        }
        if id > LARGEST_ID {
            let what = format!("{place}: {:?} has the id {id}, which is larger than {LARGEST_ID}", token.content);
            return Err(ErrorKind::UnsupportedTokenizer(what).into());
        }
        match self.added.entry(id) {
            Entry::Vacant(entry) => drop(entry.insert(AddedToken { id, ..token })),
            Entry::Occupied(entry) => {
                let (content, first) = (&token.content, &entry.get().content);
                self.conflicts.push(format!("{place} gives {content:?} the id {id} of {first:?}; {first:?} is used"));
            }
        }
        Ok(())
    }

    /// Those of these tokens with ids that are other entries of the model.
    fn renamed<'t>(&self, tokens: &'t [AddedToken], model: &Value) -> Vec<Renamed<'v, 't>> {
        let mut by_id: Vec<(TokenId, &str)> = tokens.iter().map(|token| (token.id, &*token.content)).collect();
        by_id.sort_unstable();
        // One pass over the vocabulary, which cannot be searched by id.
        let renamed = self.vocabulary.ids.iter().filter_map(|(entry, id)| {
            let (_, content) = by_id[by_id.binary_search_by_key(id, |(id, _)| *id).ok()?];
            (content != entry && self.added.contains_key(id)).then_some((entry.as_str(), (*id, content)))
        });
        let renamed: HashMap<&str, (TokenId, &str)> = renamed.collect();
        let written = if renamed.is_empty() { HashSet::new() } else { written_by(model, &renamed) };
        let renamed = renamed.into_iter().map(|(entry, (id, content))| {
            let is_written = written.contains(entry);
            Renamed { content, id, entry, is_written }
        });
        renamed.collect()
    }
}

/// Which entries a model may write: those that merges begin with or make, or all if it has none.
fn written_by<'e, T>(model: &Value, entries: &HashMap<&'e str, T>) -> HashSet<&'e str> {
    let Some(merges) = model["merges"].as_array() else { return entries.keys().copied().collect() };
    let made = |merge: &Value| match merge {
        Value::String(merge) => Some(merge.replacen(' ', "", 1)),
        pair => Some([pair.get(0)?.as_str()?, pair.get(1)?.as_str()?].concat()),
    };
    let is_first = |entry: &&str| entry.chars().nth(1).is_none() || entry.starts_with("<0x");
    let made = merges.iter().filter_map(made).filter_map(|made| Some(*entries.get_key_value(made.as_str())?.0));
    entries.keys().copied().filter(is_first).chain(made).collect()
}
