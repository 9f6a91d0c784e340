//! Where two answers begin to differ.

use serde::Serialize;

use super::answer::Answer;
use crate::common_prefix::common_prefix;
use crate::tokenizer::TokenId;

/// Where two answers begin to differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FirstDifference {
    /// The index of the first token that differs. It is the number of tokens if only the ends differ.
    Token(usize),
    /// The first character that differs, if one of the answers has only text.
    Byte {
        /// The byte at which it begins.
        byte: usize,
    },
}

impl FirstDifference {
    /// None if the answers are equal.
    pub(super) fn of([a, b]: [&Answer; 2]) -> Option<Self> {
        let ends_differ = a.end.differs(&b.end);
        match (&a.token_ids, &b.token_ids) {
            (Some(a_ids), Some(b_ids)) => {
                let token = first_token(a_ids, b_ids).or(ends_differ.then_some(a_ids.len()));
                // A stop string may begin within a token, whose other text is then in no id.
                token.map(Self::Token).or_else(|| first_byte(&a.text, &b.text).map(|byte| Self::Byte { byte }))
            }
            _ => {
                let (a, b) = (&*a.text, &*b.text);
                first_byte(a, b).or(ends_differ.then_some(a.len())).map(|byte| Self::Byte { byte })
            }
        }
    }
}

fn first_token(a: &[TokenId], b: &[TokenId]) -> Option<usize> {
    let common = common_prefix(a, b);
    (common < a.len().max(b.len())).then_some(common)
}

/// At the beginning of a character.
pub(super) fn first_byte(a: &str, b: &str) -> Option<usize> {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    (common < a.len().max(b.len())).then_some(common)
}
