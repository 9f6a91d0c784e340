//! The vocabulary of a GGUF file.

use crate::error::{ErrorKind, Result};
use crate::tokenizer::formats::gguf::metadata::{Metadata, OTHERWISE};
use crate::tokenizer::formats::vocabulary::{Kind, Merge, Token, Vocabulary};

/// The tokens of Phi-3 that leave white space alone. The others take what is after them.
const KEEP_SPACE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

/// The tokens of a file.
pub(super) fn vocabulary(metadata: &Metadata) -> Result<Vocabulary> {
    let tokens = metadata.texts("tokenizer.ggml.tokens").ok_or_else(|| missing("tokenizer.ggml.tokens"))?;
    let types = metadata.ints("tokenizer.ggml.token_type").unwrap_or_default();
    // llama.cpp tells the model by its name, too.
    let name = metadata.text("general.name").unwrap_or_default().to_lowercase();
    let is_phi3 = ["phi-3", "phi3"].iter().any(|phi3| name.contains(phi3));
    let token = |(id, text): (usize, &String)| {
        let kind = match types.get(id) {
            Some(2) => Kind::Unknown,
            Some(3) => Kind::Control,
            Some(4) => Kind::UserDefined,
            Some(5) if *text == format!("[PAD{id}]") || text.is_empty() => Kind::Padding,
            Some(6) => Kind::Byte,
            _ => Kind::Normal,
        };
        Token { rstrip: is_phi3 && !KEEP_SPACE.contains(&text.as_str()), ..Token::new(text, kind) }
    };
    Ok(Vocabulary::new(tokens.iter().enumerate().map(token).collect()))
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
