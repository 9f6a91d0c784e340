//! tiktoken vocabularies: each line is a token's bytes in base64 and its rank.
//!
//! Code in the model's repository says how text is split and which tokens are special; `tokenizer_class` in
//! `tokenizer_config.json` identifies that code.

use foldhash::HashSet;

use crate::error::{At, ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::tokenizer::bpe::KIMI;
use crate::tokenizer::formats::config::TokenizerConfig;
use crate::tokenizer::formats::format::{Converted, Format};
use crate::tokenizer::formats::patterns::{CL100K, QWEN2};
use crate::tokenizer::formats::steps::{Steps, split};
use crate::tokenizer::formats::tokenizer_json::{Bpe, TokenizerJson};
use crate::tokenizer::formats::vocabulary::{Token, TokenType, TokenWithId, Vocabulary};

pub(super) const FORMAT: Format =
    Format { kind: FileKind::Tiktoken, files: &["tiktoken.model", "qwen.tiktoken", "hy.tiktoken"], convert };

/// What a class of tokenizers does with a vocabulary.
struct Class {
    name: &'static str,
    pattern: &'static str,
    nfc: bool,
    /// Whether tokens are counted, and those that come again left out, whatever their ranks are.
    counts_ranks: bool,
    /// The first special tokens, whose ids follow those of the vocabulary.
    special: &'static [&'static str],
    filler: Filler,
    /// The tokens before a prompt.
    begin: &'static [&'static str],
}

/// The special tokens after the first ones.
enum Filler {
    None,
    /// `<|extra_0|>` and so on.
    Extra(usize),
    /// `<|reserved_token_ID|>`, unless `tokenizer_config.json` has a token with this id.
    Reserved(usize),
}

const DEFAULT: Class =
    Class { name: "", pattern: QWEN2, nfc: false, counts_ranks: false, special: &[], filler: Filler::None, begin: &[] };

const CLASSES: [Class; 4] = [
    // The original Qwen, before Qwen1.5.
    Class {
        name: "QWenTokenizer",
        nfc: true,
        special: &["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        filler: Filler::Extra(205),
        ..DEFAULT
    },
    // Hunyuan.
    Class {
        name: "HYTokenizer",
        nfc: true,
        counts_ranks: true,
        special: &["<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"],
        filler: Filler::Extra(205),
        ..DEFAULT
    },
    // GLM-4. Its special tokens are in tokenizer_config.json.
    Class { name: "ChatGLM4Tokenizer", pattern: CL100K, begin: &["[gMASK]", "<sop>"], ..DEFAULT },
    // Kimi.
    Class { name: "TikTokenTokenizer", pattern: KIMI, filler: Filler::Reserved(258), ..DEFAULT },
];

fn convert(bytes: &[u8], config: &TokenizerConfig) -> Result<Converted> {
    let class = class(config)?;
    let mut tokens = tokens(bytes, class)?;
    tokens.extend(special_tokens(class, tokens.len(), config));
    let vocabulary = Vocabulary::new(tokens);
    let json = TokenizerJson {
        vocabulary: &vocabulary,
        steps: Steps::of_bytes(vec![split(class.pattern)], class.nfc),
        model: Bpe::of_bytes(&vocabulary, vocabulary.merges_by_id(), true),
        around: [begin(class, config)?, Vec::new()],
    };
    vocabulary.check_bytes()?;
    Ok(Converted { tokenizer_json: json.to_bytes()?, special_tokens: Vec::new() })
}

fn class(config: &TokenizerConfig) -> Result<&'static Class> {
    let known = config.class().and_then(|name| CLASSES.iter().find(|class| class.name == name));
    known.ok_or_else(|| {
        let what = match config.class() {
            Some(name) => format!("metatok does not know how {name} splits text"),
            None => "the file does not say how text is split, nor does a tokenizer_config.json with a tokenizer_class".into(),
        };
        let names: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
        ErrorKind::UnsupportedTokenizer(what).with_way_out(format!(
            "metatok reads tiktoken vocabularies of the classes {}; otherwise use the tokenizer.json of the model's repository",
            names.join(", ")
        ))
    })
}

/// The tokens in the order of their ranks.
fn tokens(bytes: &[u8], class: &Class) -> Result<Vec<Token>> {
    let mut seen = HashSet::default();
    let mut tokens = Vec::new();
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let place = || format!("line {}", number + 1);
        let mut words = line.split(|byte| *byte == b' ');
        let token = Token::of_base64(words.next().unwrap_or_default()).at(place())?;
        let rank = String::from_utf8_lossy(words.next().unwrap_or_default());
        if class.counts_ranks {
            if !seen.insert(token.text.clone()) {
                continue;
            }
        } else if rank.parse() != Ok(tokens.len()) {
            let what = format!("the rank is {rank:?}, and not {}", tokens.len());
            return Err(ErrorKind::Invalid(what).with_way_out("download the file again").at(place()));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

/// The special tokens, of which the first has the id `first`.
fn special_tokens(class: &Class, first: usize, config: &TokenizerConfig) -> Vec<Token> {
    let named = class.special.iter().map(|token| (*token).to_owned());
    let first = first + class.special.len();
    let reserved = |id| config.added_token(id).map_or_else(|| format!("<|reserved_token_{id}|>"), str::to_owned);
    let filler: Vec<String> = match class.filler {
        Filler::None => Vec::new(),
        Filler::Extra(count) => (0..count).map(|number| format!("<|extra_{number}|>")).collect(),
        Filler::Reserved(count) => (first..first + count).map(reserved).collect(),
    };
    named.chain(filler).map(|token| Token::new(token, TokenType::Control)).collect()
}

fn begin(class: &Class, config: &TokenizerConfig) -> Result<Vec<TokenWithId<'static>>> {
    let with_id = |token: &&'static str| {
        let id = config.added_token_id(token).ok_or_else(|| {
            let what = format!(
                "tokenizer_config.json has no added token {token:?}, with which {} begins each prompt",
                class.name
            );
            ErrorKind::Invalid(what).with_way_out("use the tokenizer_config.json of the model's repository")
        });
        Ok((id?, *token))
    };
    class.begin.iter().map(with_id).collect()
}
