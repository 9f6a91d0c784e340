//! Mistral's `tekken.json`: a vocabulary of bytes with its pattern, of which the first ids are special tokens.
//!
//! The ids are those of [mistral_common](https://github.com/mistralai/mistral-common), which adds `<s>` before a prompt.

use serde::Deserialize;

use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::definition::parse_json;
use crate::tokenizer::formats::vocabulary::{Bpe, Converted, Kind, Steps, Token, Vocabulary, split};

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Entry>,
    special_tokens: Option<Vec<Special>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    /// How many ids there are. The vocabulary may have more entries than ids are left.
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Entry {
    token_bytes: String,
}

#[derive(Deserialize)]
struct Special {
    rank: usize,
    token_str: String,
    #[serde(default = "yes")]
    is_control: bool,
}

fn yes() -> bool {
    true
}

/// The special tokens of files that do not list them, in the order of their ids.
const USUAL: [&str; 20] = [
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

/// The tokens with a role, by their names in `tokenizer_config.json`.
const ROLES: [(&str, &str); 4] =
    [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")];

pub(super) fn convert(bytes: &[u8]) -> Result<Converted> {
    let File { config, vocab, special_tokens } = parse_json(bytes)?;
    let count = config.default_num_special_tokens;
    let mut tokens = special(special_tokens, count).at("special_tokens")?;
    let entries = config.default_vocab_size.saturating_sub(count).min(vocab.len());
    for (rank, entry) in vocab.into_iter().take(entries).enumerate() {
        tokens.push(Token::of_base64(entry.token_bytes.as_bytes()).at("token_bytes").at(format!("vocab[{rank}]"))?);
    }
    let vocabulary = Vocabulary::new(tokens);
    let steps = Steps::of_bytes(vec![split(&config.pattern)], false);
    let model = Bpe::of_bytes(&vocabulary, vocabulary.merges_by_id(), true);
    let id = |text: &str| vocabulary.added().find(|(_, token)| token.text == text).map(|(id, _)| id);
    let tokenizer_json = vocabulary.tokenizer_json(&steps, &model, &vocabulary.named(id("<s>")), &[])?;
    let has = |(_, token): &(&str, &str)| id(token).is_some();
    let special_tokens = ROLES.into_iter().filter(has).map(|(name, token)| (name, token.to_owned())).collect();
    Ok(Converted { tokenizer_json, special_tokens })
}

/// The special tokens by id, as many as are counted. Ids that are not listed have names, too.
fn special(listed: Option<Vec<Special>>, count: usize) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = (0..count).map(|id| Token::new(format!("<SPECIAL_{id}>"), Kind::Control)).collect();
    let usual = || {
        let all = USUAL.into_iter().enumerate();
        all.map(|(rank, token)| Special { rank, token_str: token.into(), is_control: true }).collect()
    };
    for Special { rank, token_str, is_control } in listed.unwrap_or_else(usual) {
        let kind = if is_control { Kind::Control } else { Kind::UserDefined };
        let Some(token) = tokens.get_mut(rank) else {
            let what = format!("{token_str:?} has the rank {rank}, but config.default_num_special_tokens is {count}");
            return Err(ErrorKind::Invalid(what).into());
        };
        *token = Token::new(token_str, kind);
    }
    Ok(tokens)
}
