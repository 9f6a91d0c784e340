//! The vocabulary of a GGUF file.

use crate::error::{ErrorKind, Result};
use crate::tokenizer::formats::gguf::metadata::{Metadata, OTHERWISE};
use crate::tokenizer::formats::vocabulary::{Merge, Token, TokenType, Vocabulary};

/// Phi-3's tokens that do not take the white space after them; all others do.
const KEEP_SPACE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

/// The tokens of a file.
pub(super) fn vocabulary(metadata: &Metadata) -> Result<Vocabulary> {
    let tokens = metadata.texts("tokenizer.ggml.tokens").ok_or_else(|| missing("tokenizer.ggml.tokens"))?;
    let types = metadata.ints("tokenizer.ggml.token_type").unwrap_or_default();
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
    let merges = metadata.texts(KEY).ok_or_else(|| missing(KEY))?;
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
    let scores = metadata.floats(KEY).ok_or_else(|| missing(KEY))?;
    Ok(vocabulary.merges_by_score(&scores))
}

fn missing(key: &str) -> crate::Error {
    ErrorKind::Invalid(format!("it has no {key}")).with_way_out(OTHERWISE)
}
