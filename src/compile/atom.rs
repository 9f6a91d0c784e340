//! What prompts consist of before they are encoded.

use crate::tokenizer::TokenId;

/// A piece of a prompt: a token with a fixed id, or text that still has to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atom<T = Box<str>> {
    /// A token. Nothing merges with it.
    Token(TokenId),
    /// Text, which is encoded together with the text next to it.
    Text(T),
}

impl Atom {
    pub(crate) fn borrowed(&self) -> Atom<&str> {
        match self {
            Self::Token(id) => Atom::Token(*id),
            Self::Text(text) => Atom::Text(text),
        }
    }
}
