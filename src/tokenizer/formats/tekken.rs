//! Mistral's `tekken.json`: a vocabulary of bytes and its split pattern; the first ids are special tokens.
//!
//! The ids are those of [mistral_common](https://github.com/mistralai/mistral-common), which puts `<s>` before a prompt.

use serde::Deserialize;

use crate::error::{At, Error, ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::tokenizer::definition::parse_json;
use crate::tokenizer::formats::config::TokenizerConfig;
use crate::tokenizer::formats::format::{Converted, Format};
use crate::tokenizer::formats::steps::{Steps, split};
use crate::tokenizer::formats::tokenizer_json::{Bpe, TokenizerJson};
use crate::tokenizer::formats::vocabulary::{Token, TokenType, Vocabulary};
use crate::tokenizer::model_vocabulary::LARGEST_ID;

pub(super) const FORMAT: Format = Format { kind: FileKind::Tekken, files: &["tekken.json"], convert };

#[derive(Deserialize)]
struct Tekken {
    config: TekkenConfig,
    vocab: Vec<Entry>,
    special_tokens: Option<Vec<SpecialToken>>,
}

#[derive(Deserialize)]
struct TekkenConfig {
    pattern: String,
    /// The number of ids; `vocab` may have more entries than fit.
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Entry {
    rank: usize,
    token_bytes: String,
}

#[derive(Deserialize)]
struct SpecialToken {
    rank: usize,
    token_str: String,
}

/// The special tokens of files that do not list them, in the order of their ids.
const DEFAULT_SPECIAL_TOKENS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

const ROLES: [(&str, &str); 4] =
    [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")];

fn convert(bytes: &[u8], _: &TokenizerConfig) -> Result<Converted> {
    let tekken: Tekken = parse_json(bytes)?;
    let pattern = split(&tekken.config.pattern);
    let vocabulary = Vocabulary::new(tokens(tekken)?);
    let roles = ROLES.into_iter().filter(|(_, token)| vocabulary.added_token(token).is_some());
    let json = TokenizerJson {
        vocabulary: &vocabulary,
        steps: Steps::of_bytes(vec![pattern], false),
        model: Bpe::of_bytes(&vocabulary, vocabulary.merges_by_id(), true),
        around: [vocabulary.added_token("<s>").into_iter().collect(), Vec::new()],
    };
    vocabulary.check_bytes()?;
    Ok(Converted {
        tokenizer_json: json.to_bytes()?,
        special_tokens: roles.map(|(role, token)| (role.to_owned(), token.to_owned())).collect(),
    })
}

/// The special tokens, and then the others.
fn tokens(Tekken { config, vocab, special_tokens }: Tekken) -> Result<Vec<Token>> {
    let (size, special) = (config.default_vocab_size, config.default_num_special_tokens);
    let entries = size.checked_sub(special).filter(|entries| *entries <= vocab.len());
    let Some(entries) = entries.filter(|_| size <= LARGEST_ID as usize) else {
        let what = format!(
            "default_vocab_size is {size} and default_num_special_tokens {special}, but vocab has {} entries",
            vocab.len()
        );
        return Err(damaged(what).at("config"));
    };
    let mut tokens = self::special_tokens(special_tokens, special)?;
    for (at, Entry { rank, token_bytes }) in vocab.into_iter().take(entries).enumerate() {
        let place = || format!("vocab[{at}]");
        if rank != at {
            return Err(damaged(format!("the rank is {rank}, and not {at}")).at(place()));
        }
        tokens.push(Token::of_base64(token_bytes.as_bytes()).at("token_bytes").at(place())?);
    }
    Ok(tokens)
}

/// The special tokens by id. Those that are not listed are called `<SPECIAL_ID>`.
fn special_tokens(listed: Option<Vec<SpecialToken>>, count: usize) -> Result<Vec<Token>> {
    let default = || {
        let all = DEFAULT_SPECIAL_TOKENS.iter().enumerate();
        all.map(|(rank, token)| SpecialToken { rank, token_str: (*token).to_owned() }).collect()
    };
    let mut tokens: Vec<Token> =
        (0..count).map(|id| Token::new(format!("<SPECIAL_{id}>"), TokenType::Control)).collect();
    for (at, SpecialToken { rank, token_str }) in listed.unwrap_or_else(default).into_iter().enumerate() {
        let Some(token) = tokens.get_mut(rank) else {
            let what = format!("{token_str:?} has rank {rank}, but config.default_num_special_tokens is {count}");
            return Err(damaged(what).at(format!("special_tokens[{at}]")));
        };
        token.text = token_str;
    }
    Ok(tokens)
}

fn damaged(what: String) -> Error {
    ErrorKind::Invalid(what).with_way_out("download the file again")
}
