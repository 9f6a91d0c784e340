//! The model's own vocabulary in a `tokenizer.json`: text to id.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::tokenizer::TokenId;

/// A larger id, twice the largest vocabulary, is taken for a damaged file, because tables are as long as the largest
/// id.
pub(crate) const LARGEST_ID: TokenId = 1 << 21;

/// The libraries keep the entries of Unigram and WordPiece in trees, in which they go one level down for each character: a
/// longer entry, in bytes, could overflow the stack.
const LONGEST_ENTRY: usize = 1 << 12;

/// The entries of a model.
pub(crate) struct Vocabulary {
    pub(crate) ids: foldhash::HashMap<String, TokenId>,
    pub(crate) max: Option<TokenId>,
}

impl Vocabulary {
    pub(crate) fn of(json: &Value) -> Result<Self> {
        let bad = |message: String| ErrorKind::UnsupportedTokenizer(message);
        let model = json.get("model").ok_or_else(|| bad("the file has no \"model\"".into()))?;
        let mut ids = foldhash::HashMap::default();
        match model.get("vocab") {
            Some(Value::Object(entries)) => {
                let mut is_taken = Vec::new();
                for (token, id) in entries {
                    let id = id.as_u64().filter(|&id| id <= u64::from(LARGEST_ID)).ok_or_else(|| {
                        bad(format!("entry {token:?} has the id {id}, which is not a number from 0 to {LARGEST_ID}"))
                    })?;
                    let at = id as usize;
                    if is_taken.len() <= at {
                        is_taken.resize(at + 1, false);
                    }
                    if std::mem::replace(&mut is_taken[at], true) {
                        return Err(shared_id(entries, token, id));
                    }
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
        // Those of the others are in tables.
        let is_tree = !matches!(model["type"].as_str(), Some("BPE" | "WordLevel"));
        let too_long =
            ids.iter().filter(|(token, _)| is_tree && token.len() > LONGEST_ENTRY).min_by_key(|(_, id)| **id);
        if let Some((token, id)) = too_long {
            let what = format!("entry {id} has {} bytes, but none may have more than {LONGEST_ENTRY}", token.len());
            return Err(bad(what).with_way_out("use the file of the model's repository"));
        }
        let max = ids.values().copied().max();
        Ok(Self { ids, max })
    }
}

/// The error of an entry whose id another one has. Which of the two an id stands for would change from run to run.
fn shared_id(entries: &Map<String, Value>, token: &str, id: u64) -> Error {
    let other = entries.iter().find(|(_, other)| other.as_u64() == Some(id)).map_or("", |(other, _)| other);
    let what = format!("{other:?} and {token:?} have the same id, {id}");
    ErrorKind::UnsupportedTokenizer(what)
        .with_way_out("give each entry its own id, or use the file of the model's repository")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_two_entries_have_one_id() {
        let of = |kind: &str, other: u64| {
            Vocabulary::of(&json!({"model": {"type": kind, "vocab": {"h": 0, "i": 1, "hi": other}}}))
        };
        for kind in ["BPE", "WordLevel", "WordPiece"] {
            assert!(of(kind, 3).is_ok());
            let error = of(kind, 1).err().expect(kind).to_string();
            assert!(["hi", "i", "the same id, 1"].iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn entries_that_the_libraries_keep_in_trees_are_not_too_long() {
        let longest = "a".repeat(LONGEST_ENTRY);
        let longer = format!("{longest}a");
        for (entry, is_unigram_read, is_bpe_read) in [(longest, true, true), (longer, false, true)] {
            let unigram = json!({"model": {"type": "Unigram", "vocab": [["a", 0.0], [entry, 0.0]]}});
            let of = |kind: &str| json!({"model": {"type": kind, "vocab": {"a": 0, entry.as_str(): 1}}});
            assert_eq!(Vocabulary::of(&unigram).is_ok(), is_unigram_read);
            assert_eq!(Vocabulary::of(&of("WordPiece")).is_ok(), is_unigram_read);
            assert_eq!(Vocabulary::of(&of("BPE")).is_ok(), is_bpe_read);
            if let Err(error) = Vocabulary::of(&unigram) {
                assert!(
                    error.to_string().contains("entry 1 has 4097 bytes, but none may have more than 4096"),
                    "{error}"
                );
            }
        }
    }
}
