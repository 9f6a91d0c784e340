//! The id of a token.

/// The id of a token.
pub type TokenId = u32;
