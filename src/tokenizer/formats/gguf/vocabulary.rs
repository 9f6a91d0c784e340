//! The vocabulary of a GGUF file.

use crate::error::{Error, ErrorKind, Result};
use crate::tokenizer::formats::gguf::metadata::{Metadata, OTHERWISE};
use crate::tokenizer::formats::vocabulary::{Merge, Token, TokenType, Vocabulary};

/// Phi-3's tokens that do not take the white space after them; all others do.
const KEEP_SPACE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";

/// The tokens of a file.
pub(super) fn vocabulary(metadata: &Metadata) -> Result<Vocabulary> {
    let tokens = metadata.texts(TOKENS).ok_or_else(|| missing(metadata, TOKENS, "strings"))?;
    if metadata.has(TYPES) {
        let types = metadata.ints(TYPES).ok_or_else(|| missing(metadata, TYPES, "whole numbers"))?;
        check_count(metadata, TYPES, types.len())?;
    }
    let types = metadata.ints(TYPES).unwrap_or_default();
    // llama.cpp, too, recognizes the model by name.
    let name = metadata.text("general.name").unwrap_or_default().to_lowercase();
    let is_phi3 = ["phi-3", "phi3"].iter().any(|phi3| name.contains(phi3));
    let token = |(id, text): (usize, &str)| {
        let kind = match TokenType::of_number(types.get(id).copied()) {
            // Some are written as unused.
            TokenType::Unused if text != format!("[PAD{id}]") && !text.is_empty() => TokenType::Normal,
            kind => kind,
        };
        Token { rstrip: is_phi3 && !KEEP_SPACE.contains(&text), ..Token::new(text, kind) }
    };
    let mut tokens: Vec<Token> = tokens.iter().enumerate().map(token).collect();
    // They only make the vocabulary as long as the weights.
    while tokens.pop_if(|last| last.kind == TokenType::Unused).is_some() {}
    Ok(Vocabulary::new(tokens))
}

/// The merges that a file lists.
pub(super) fn listed_merges(metadata: &Metadata) -> Result<Vec<Merge<'_>>> {
    const KEY: &str = "tokenizer.ggml.merges";
    let merges = metadata.texts(KEY).ok_or_else(|| missing(metadata, KEY, "strings"))?;
    let parted = merges.iter().enumerate().map(|(at, merge)| {
        // The first entry may itself be a space.
        let space = merge.char_indices().skip(1).find(|(_, c)| *c == ' ').map(|(at, _)| at);
        let parts = space.map(|space| [&merge[..space], &merge[space + 1..]]);
        parts.ok_or_else(|| ErrorKind::Invalid(format!("{KEY}[{at}] is {merge:?}, which is not two entries")).into())
    });
    parted.collect()
}

/// The merges of a vocabulary of scores, which tell what merges first.
pub(super) fn merges_by_score<'a>(metadata: &Metadata, vocabulary: &'a Vocabulary) -> Result<Vec<Merge<'a>>> {
    const KEY: &str = "tokenizer.ggml.scores";
    let scores = metadata.floats(KEY).ok_or_else(|| missing(metadata, KEY, "numbers"))?;
    check_count(metadata, KEY, scores.len())?;
    match scores.iter().position(|score| score.is_nan()) {
        Some(at) => Err(damaged(format!("{KEY}[{at}] is NaN"))),
        None => Ok(vocabulary.merges_by_score(&scores)),
    }
}

/// Rejects a list of fewer values than there are tokens.
fn check_count(metadata: &Metadata, key: &str, count: usize) -> Result<()> {
    let tokens = metadata.texts(TOKENS).map_or(0, |tokens| tokens.iter().len());
    match count < tokens {
        true => Err(damaged(format!("{key} has {count} values, but {TOKENS} has {tokens}"))),
        false => Ok(()),
    }
}

fn damaged(what: String) -> Error {
    ErrorKind::Invalid(what).with_way_out("download it again")
}

/// The error of a list that is missing, or has other values.
fn missing(metadata: &Metadata, key: &str, values: &str) -> Error {
    let what = match metadata.has(key) {
        true => format!("{key} is not a list of {values}"),
        false => format!("it has no {key}"),
    };
    ErrorKind::Invalid(what).with_way_out(OTHERWISE)
}
