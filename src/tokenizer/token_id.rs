//! The id of a token.

/// The id of a token: its number in the vocabulary, from 0.
pub type TokenId = u32;
