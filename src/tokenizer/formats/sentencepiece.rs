//! SentencePiece models, usually called `tokenizer.model`: pieces with scores, and how text is normalized.
//!
//! The format is that of
//! [`sentencepiece_model.proto`](https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::{HashMap, HashSet};
use prost::Message;
use serde::Serialize;
use serde_json::json;

use crate::error::{At, ErrorKind, Result};
use crate::file_kind::FileKind;
use crate::tokenizer::formats::config::TokenizerConfig;
use crate::tokenizer::formats::format::{Converted, Format};
use crate::tokenizer::formats::steps::{Prefix, Steps, replace_regex};
use crate::tokenizer::formats::tokenizer_json::{Bpe, TokenizerJson};
use crate::tokenizer::formats::vocabulary::{Token, TokenType, Vocabulary};

pub(super) const FORMAT: Format = Format { kind: FileKind::SentencePiece, files: &["tokenizer.model"], convert };

#[derive(Message)]
struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    trainer_spec: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    normalizer_spec: Option<NormalizerSpec>,
}

#[derive(Message)]
struct Piece {
    #[prost(string, tag = "1")]
    piece: String,
    #[prost(float, tag = "2")]
    score: f32,
    #[prost(int32, optional, tag = "3")]
    r#type: Option<i32>,
}

#[derive(Message)]
struct TrainerSpec {
    #[prost(int32, optional, tag = "3")]
    model_type: Option<i32>,
    #[prost(bool, tag = "24")]
    treat_whitespace_as_suffix: bool,
    #[prost(bool, tag = "35")]
    byte_fallback: bool,
    #[prost(int32, optional, tag = "41")]
    bos_id: Option<i32>,
    #[prost(int32, optional, tag = "42")]
    eos_id: Option<i32>,
    #[prost(int32, optional, tag = "43")]
    pad_id: Option<i32>,
}

#[derive(Message)]
struct NormalizerSpec {
    #[prost(bytes = "vec", tag = "2")]
    precompiled_charsmap: Vec<u8>,
    #[prost(bool, optional, tag = "3")]
    add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    escape_whitespaces: Option<bool>,
}

/// The values of `model_type` that are read.
const UNIGRAM: i32 = 1;
const BPE: i32 = 2;

/// What a class of tokenizers does with a model.
struct Class {
    name: &'static str,
    /// Whether bos is put before a prompt, unless `tokenizer_config.json` says otherwise.
    adds_bos: bool,
    /// The special tokens, whose ids follow those of the model.
    special: &'static [&'static str],
    /// The special tokens that are put before a prompt.
    begin: &'static [&'static str],
}

/// Other classes change ids, or add other tokens.
static CLASSES: [Class; 8] = [
    Class::plain("LlamaTokenizer"),
    Class::plain("CodeLlamaTokenizer"),
    Class::plain("GemmaTokenizer"),
    Class::plain("InternLMTokenizer"),
    Class::plain("InternLM2Tokenizer"),
    Class::plain("BaichuanTokenizer"),
    Class::plain("YiTokenizer"),
    // ChatGLM2, which lacks the roles, and ChatGLM3.
    Class {
        name: CHATGLM,
        adds_bos: false,
        special: &[
            "[MASK]",
            "[gMASK]",
            "[sMASK]",
            "sop",
            "eop",
            "<|system|>",
            "<|user|>",
            "<|assistant|>",
            "<|observation|>",
        ],
        begin: &["[gMASK]", "sop"],
    },
];
const CHATGLM: &str = "ChatGLMTokenizer";

impl Class {
    /// One that uses a model as it is.
    const fn plain(name: &'static str) -> Self {
        Self { name, adds_bos: true, special: &[], begin: &[] }
    }

    fn of(config: &TokenizerConfig, trainer: &TrainerSpec) -> Result<&'static Self> {
        let Some(name) = config.class() else { return Ok(&CLASSES[0]) };
        // The first ChatGLM has the same class, with other code.
        let is_known = |class: &&Self| class.name == name && (name != CHATGLM || trainer.model_type == Some(BPE));
        CLASSES.iter().find(is_known).ok_or_else(|| {
            let names: Vec<&str> = CLASSES.iter().map(|class| class.name).collect();
            let what = format!("metatok does not know how {name} uses this SentencePiece model");
            ErrorKind::UnsupportedTokenizer(what).with_way_out(format!(
                "it knows {}; if this works like one of them, name that one as the tokenizer_class in tokenizer_config.json; otherwise use the tokenizer.json of the model's repository",
                names.join(", ")
            ))
        })
    }
}

fn convert(bytes: &[u8], config: &TokenizerConfig) -> Result<Converted> {
    let damaged = |error: prost::DecodeError| {
        ErrorKind::Invalid(format!("the SentencePiece model is damaged: {error}")).with_way_out("download it again")
    };
    let ModelProto { pieces, trainer_spec, normalizer_spec } = ModelProto::decode(bytes).map_err(damaged)?;
    let (trainer, normalizer) = (trainer_spec.unwrap_or_default(), normalizer_spec.unwrap_or_default());
    let class = Class::of(config, &trainer)?;
    check(&pieces, &trainer)?;
    let scores = scores(&pieces)?;
    let special = class.special.iter().map(|token| Token::new(*token, TokenType::Control));
    let vocabulary = Vocabulary::new(pieces.into_iter().map(token).chain(special).collect());
    let id = |given: Option<i32>, default: i32| {
        usize::try_from(given.unwrap_or(default)).ok().filter(|id| *id < vocabulary.len())
    };
    let unk = vocabulary.iter().find(|(_, token)| token.kind == TokenType::Unknown).map(|(id, _)| id);
    let [bos, eos, pad] = [id(trainer.bos_id, 1), id(trainer.eos_id, 2), id(trainer.pad_id, -1)];
    let before = vocabulary.with_id(bos.filter(|_| config.add_bos_token.unwrap_or(class.adds_bos))).into_iter();
    let begin = class.begin.iter().filter_map(|token| vocabulary.added_token(token));
    let after = vocabulary.with_id(eos.filter(|_| config.add_eos_token == Some(true)));
    let json = TokenizerJson {
        vocabulary: &vocabulary,
        steps: steps(&trainer, &normalizer, config)?,
        model: model(&trainer, &vocabulary, &scores, unk)?,
        around: [before.chain(begin).collect(), after.into_iter().collect()],
    };
    let roles = [("unk_token", unk), ("bos_token", bos), ("eos_token", eos), ("pad_token", pad)];
    let named = roles.into_iter().filter_map(|(role, id)| Some((role.to_owned(), vocabulary.text(id?)?.to_owned())));
    Ok(Converted { tokenizer_json: json.to_bytes()?, special_tokens: named.collect() })
}

/// Rejects pieces that SentencePiece itself rejects.
fn check(pieces: &[Piece], trainer: &TrainerSpec) -> Result<()> {
    let damaged = |what: String| ErrorKind::Invalid(what).with_way_out("download the file again");
    let mut known = HashMap::default();
    let mut unknown = None;
    let mut bytes = HashSet::default();
    for (at, piece) in pieces.iter().enumerate() {
        let (kind, text) = (piece.kind(), piece.piece.as_str());
        // A piece that text never gives may be called as another one.
        let is_text = matches!(kind, TokenType::Normal | TokenType::UserDefined | TokenType::Unused);
        let fault = match known.insert((is_text, text), at) {
            _ if text.is_empty() => Some("the piece is empty".to_owned()),
            Some(first) => Some(format!("{text:?} is also pieces[{first}]")),
            None => unknown
                .filter(|_| kind == TokenType::Unknown)
                .map(|first| format!("{text:?} is UNKNOWN, as pieces[{first}] is, but only one piece may be")),
        };
        if let Some(what) = fault {
            return Err(damaged(what).at(format!("pieces[{at}]")));
        }
        match kind {
            TokenType::Unknown => unknown = Some(at),
            TokenType::Byte => drop(bytes.insert(text)),
            _ => {}
        }
    }
    let missing = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).find(|byte| !bytes.contains(byte.as_str()));
    match missing.filter(|_| trainer.byte_fallback) {
        Some(byte) => {
            Err(damaged(format!("byte_fallback is true, but there is no BYTE piece {byte:?}"))).at("trainer_spec")
        }
        None => Ok(()),
    }
}

fn scores(pieces: &[Piece]) -> Result<Vec<f64>> {
    let score = |(at, Piece { score, .. }): (usize, &Piece)| match score.is_finite() {
        true => Ok((*score).into()),
        false => {
            let what = ErrorKind::Invalid(format!("the score is {score}")).with_way_out("download the file again");
            Err(what.at(format!("pieces[{at}]")))
        }
    };
    pieces.iter().enumerate().map(score).collect()
}

impl Piece {
    fn kind(&self) -> TokenType {
        TokenType::of_number(self.r#type.map(Into::into))
    }
}

fn token(piece: Piece) -> Token {
    let kind = piece.kind();
    Token::new(piece.piece, kind)
}

#[derive(Serialize)]
#[serde(untagged)]
enum Model<'a> {
    Bpe(Bpe<'a>),
    Unigram { r#type: &'static str, unk_id: Option<usize>, byte_fallback: bool, vocab: Vec<(String, f64)> },
}

fn model<'a>(
    trainer: &TrainerSpec,
    vocabulary: &'a Vocabulary,
    scores: &[f64],
    unk_id: Option<usize>,
) -> Result<Model<'a>> {
    let byte_fallback = trainer.byte_fallback;
    match trainer.model_type.unwrap_or(UNIGRAM) {
        UNIGRAM => Ok(Model::Unigram { r#type: "Unigram", unk_id, byte_fallback, vocab: vocabulary.scored(scores) }),
        BPE => {
            let unk_token = unk_id.and_then(|id| vocabulary.text(id));
            let merges = vocabulary.merges_by_score(scores);
            Ok(Model::Bpe(Bpe::of_characters(vocabulary, merges, unk_token, byte_fallback)))
        }
        model_type => Err(unsupported(&format!("model_type is {model_type}; metatok reads UNIGRAM (1) and BPE (2)")))
            .at("trainer_spec"),
    }
}

/// The spaces around a text. At the end, SentencePiece also removes the character that stands for spaces. Only the beginning of a
/// run of them is tried, or a long run would take a time that grows with the square.
const OUTER_SPACES: &str = r"\A(?:(?>[ ▁]+)\z| +)|(?<![ ▁])(?>[ ▁]+)\z";

/// The normalizers, in SentencePiece's order.
fn steps(trainer: &TrainerSpec, normalizer: &NormalizerSpec, config: &TokenizerConfig) -> Result<Steps> {
    if trainer.treat_whitespace_as_suffix {
        let what = "treat_whitespace_as_suffix is true, which metatok does not support";
        return Err(unsupported(what)).at("trainer_spec");
    }
    if normalizer.escape_whitespaces == Some(false) {
        return Err(unsupported("escape_whitespaces is false, which metatok does not support")).at("normalizer_spec");
    }
    let mut normalizers = Vec::new();
    if !normalizer.precompiled_charsmap.is_empty() {
        let charsmap = STANDARD.encode(&normalizer.precompiled_charsmap);
        normalizers.push(json!({"type": "Precompiled", "precompiled_charsmap": charsmap}));
    }
    if normalizer.remove_extra_whitespaces != Some(false) {
        normalizers.extend([replace_regex(OUTER_SPACES, ""), replace_regex(" {2,}", " ")]);
    }
    let has_prefix = normalizer.add_dummy_prefix != Some(false) && config.add_prefix_space != Some(false);
    let prefix = match (has_prefix, config.legacy) {
        (false, _) => Prefix::Nowhere,
        (true, Some(false)) => Prefix::First,
        (true, _) => Prefix::Each,
    };
    Ok(Steps::of_meta_spaces(normalizers, prefix))
}

fn unsupported(what: &str) -> crate::Error {
    ErrorKind::UnsupportedTokenizer(what.into())
        .with_way_out("use the tokenizer.json of the model's repository, if there is one")
}

#[cfg(test)]
mod tests {
    use tokenizers_classic::normalizers::NormalizerWrapper;
    use tokenizers_classic::{NormalizedString, Normalizer as _};

    use super::*;

    fn without_outer_spaces(text: &str) -> String {
        let step: NormalizerWrapper = serde_json::from_value(replace_regex(OUTER_SPACES, "")).expect("it is a pattern");
        let mut normalized = NormalizedString::from(text);
        step.normalize(&mut normalized).expect("it is text");
        normalized.get().to_owned()
    }

    #[test]
    fn spaces_around_a_text_are_removed() {
        let longer = |texts: &[String]| -> Vec<String> {
            texts.iter().flat_map(|text| [" ", "▁", "a", "\n"].map(|next| format!("{text}{next}"))).collect()
        };
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            texts = longer(&texts);
            for text in &texts {
                let expected = text.trim_start_matches(' ').trim_end_matches([' ', '▁']);
                assert_eq!(without_outer_spaces(text), expected, "{text:?}");
            }
        }
    }

    /// With a time that grows with the square it would take hours.
    #[test]
    fn a_megabyte_of_spaces() {
        let spaces = " ".repeat(1 << 20);
        assert_eq!(without_outer_spaces(&spaces), "");
        assert_eq!(without_outer_spaces(&format!("a{spaces}b{spaces}")), format!("a{spaces}b"));
    }
}
