//! The model's own vocabulary in a `tokenizer.json`: text to id.

use serde_json::Value;

use crate::error::{ErrorKind, Result};
use crate::tokenizer::TokenId;

/// A larger id, twice the largest vocabulary, is taken for a damaged file, because tables are as long as the largest
/// id.
pub(crate) const LARGEST_ID: TokenId = 1 << 21;

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
