//! Vocabularies of tiktoken: lines with the bytes of a token, as base64, and its rank.
//!
//! How text is cut, and which tokens are special, is code of a model's repository. The class of its tokenizer, which
//! `tokenizer_config.json` names, tells which code.

use foldhash::HashSet;

use crate::error::{At, ErrorKind, Result};
use crate::tokenizer::formats::config::Config;
use crate::tokenizer::formats::patterns::{CL100K, KIMI, QWEN2};
use crate::tokenizer::formats::vocabulary::{Bpe, Converted, Kind, Steps, Token, Vocabulary, split};

/// What a class of tokenizers does with a vocabulary.
struct Class {
    name: &'static str,
    pattern: &'static str,
    composes: bool,
    /// The first special tokens, whose ids follow those of the vocabulary.
    special: &'static [&'static str],
    others: Others,
    /// The tokens before a prompt.
    begin: &'static [&'static str],
}

/// The special tokens after the first ones.
enum Others {
    None,
    /// `<|extra_0|>` and so on.
    Extra(usize),
    /// `<|reserved_token_ID|>`, unless `tokenizer_config.json` has a token with this id.
    Reserved(usize),
}

const CLASSES: [Class; 4] = [
    // Qwen and Qwen 1.5 of the first days.
    Class {
        name: "QWenTokenizer",
        pattern: QWEN2,
        composes: true,
        special: &["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        others: Others::Extra(205),
        begin: &[],
    },
    // Hunyuan.
    Class {
        name: "HYTokenizer",
        pattern: QWEN2,
        composes: true,
        special: &["<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"],
        others: Others::Extra(205),
        begin: &[],
    },
    // GLM-4, whose special tokens are in tokenizer_config.json.
    Class {
        name: "ChatGLM4Tokenizer",
        pattern: CL100K,
        composes: false,
        special: &[],
        others: Others::None,
        begin: &["[gMASK]", "<sop>"],
    },
    // Kimi.
    Class {
        name: "TikTokenTokenizer",
        pattern: KIMI,
        composes: false,
        special: &[],
        others: Others::Reserved(258),
        begin: &[],
    },
];

pub(super) fn convert(bytes: &[u8], config: &Config) -> Result<Converted> {
    let class = class(config)?;
    let mut tokens = tokens(bytes)?;
    let special = class.special.iter().map(|token| (*token).to_owned());
    let first = tokens.len() + class.special.len();
    let others: Vec<String> = match class.others {
        Others::None => Vec::new(),
        Others::Extra(count) => (0..count).map(|number| format!("<|extra_{number}|>")).collect(),
        Others::Reserved(count) => (first..first + count)
            .map(|id| config.added(id).map_or_else(|| format!("<|reserved_token_{id}|>"), str::to_owned))
            .collect(),
    };
    tokens.extend(special.chain(others).map(|token| Token::new(token, Kind::Control)));
    let vocabulary = Vocabulary::new(tokens);
    let steps = Steps::of_bytes(vec![split(class.pattern)], class.composes);
    let model = Bpe::of_bytes(&vocabulary, vocabulary.merges_by_id(), true);
    let begin = class.begin.iter().filter_map(|token| Some((config.added_id(token)?, *token)));
    let tokenizer_json = vocabulary.tokenizer_json(&steps, &model, &begin.collect::<Vec<_>>(), &[])?;
    Ok(Converted { tokenizer_json, special_tokens: Vec::new() })
}

fn class(config: &Config) -> Result<&'static Class> {
    let known = config.class().and_then(|name| CLASSES.iter().find(|class| class.name == name));
    known.ok_or_else(|| {
        let what = match config.class() {
            Some(name) => format!("how {name} cuts text is not known"),
            None => {
                "it does not say how text is cut, and there is no tokenizer_config.json with a tokenizer_class".into()
            }
        };
        let names: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
        ErrorKind::UnsupportedTokenizer(what).with_way_out(format!(
            "of tiktoken's vocabularies metatok reads those of the classes {}; for others use the tokenizer.json of the model's repository, if there is one",
            names.join(", ")
        ))
    })
}

/// The tokens of a file in their order, which is that of their ranks. One that comes again is left out.
fn tokens(bytes: &[u8]) -> Result<Vec<Token>> {
    let mut seen = HashSet::default();
    let mut tokens = Vec::new();
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let bytes = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let token = Token::of_base64(bytes).at(format!("line {}", number + 1))?;
        if seen.insert(token.text.clone()) {
            tokens.push(token);
        }
    }
    Ok(tokens)
}
