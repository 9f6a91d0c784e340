//! Models of SentencePiece, mostly called `tokenizer.model`: pieces with scores, and how text is normalized.
//!
//! The format is that of
//! [`sentencepiece_model.proto`](https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{ErrorKind, Result};
use crate::tokenizer::formats::config::Config;
use crate::tokenizer::formats::vocabulary::{Bpe, Converted, Kind, Prefix, Steps, Token, Vocabulary};

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
    #[prost(int32, optional, tag = "40")]
    unk_id: Option<i32>,
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

/// The classes of tokenizers that put the bos token before a prompt unless `tokenizer_config.json` says otherwise.
const ADD_BOS: [&str; 7] = [
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "CodeLlamaTokenizer",
    "CodeLlamaTokenizerFast",
    "GemmaTokenizer",
    "InternLMTokenizer",
    "InternLM2Tokenizer",
];

pub(super) fn convert(bytes: &[u8], config: &Config) -> Result<Converted> {
    let damaged = |error: prost::DecodeError| {
        ErrorKind::Invalid(format!("the SentencePiece model is damaged: {error}")).with_way_out("download it again")
    };
    let ModelProto { pieces, trainer_spec, normalizer_spec } = ModelProto::decode(bytes).map_err(damaged)?;
    let (trainer, normalizer) = (trainer_spec.unwrap_or_default(), normalizer_spec.unwrap_or_default());
    let scores: Vec<f64> = pieces.iter().map(|piece| piece.score.into()).collect();
    let vocabulary = Vocabulary::new(pieces.into_iter().map(token).collect());
    let id = |given: Option<i32>, usual: i32| {
        usize::try_from(given.unwrap_or(usual)).ok().filter(|id| vocabulary.text(*id).is_some())
    };
    let unknown = id(trainer.unk_id, 0);
    let model = match trainer.model_type.unwrap_or(UNIGRAM) {
        UNIGRAM => Model::Unigram {
            r#type: "Unigram",
            unk_id: unknown,
            byte_fallback: trainer.byte_fallback,
            vocab: vocabulary.scored(&scores),
        },
        BPE => {
            let unknown = unknown.and_then(|id| vocabulary.text(id));
            let merges = vocabulary.merges_by_score(&scores);
            Model::Bpe(Bpe::of_characters(&vocabulary, merges, unknown, trainer.byte_fallback))
        }
        kind => {
            return Err(unsupported(format!("the SentencePiece model is one of words or characters (type {kind})")));
        }
    };
    let [bos, eos] = [id(trainer.bos_id, 1), id(trainer.eos_id, 2)];
    let adds_bos = config.add_bos_token.unwrap_or(config.class().is_none_or(|class| ADD_BOS.contains(&class)));
    let begin = bos.filter(|_| adds_bos);
    let end = eos.filter(|_| config.add_eos_token == Some(true));
    let roles = [("bos_token", bos), ("eos_token", eos), ("unk_token", unknown), ("pad_token", id(trainer.pad_id, -1))];
    Ok(Converted {
        tokenizer_json: vocabulary.tokenizer_json(
            &steps(&trainer, &normalizer, config)?,
            &model,
            &vocabulary.named(begin),
            &vocabulary.named(end),
        )?,
        special_tokens: roles
            .into_iter()
            .filter_map(|(role, id)| Some((role, vocabulary.text(id?)?.to_owned())))
            .collect(),
    })
}

/// The types of models that are read.
const UNIGRAM: i32 = 1;
const BPE: i32 = 2;

#[derive(Serialize)]
#[serde(untagged)]
enum Model<'a> {
    Bpe(Bpe<'a>),
    Unigram { r#type: &'static str, unk_id: Option<usize>, byte_fallback: bool, vocab: Vec<(String, f64)> },
}

fn token(Piece { piece, r#type, .. }: Piece) -> Token {
    let kind = match r#type {
        Some(2) => Kind::Unknown,
        Some(3) => Kind::Control,
        Some(4) => Kind::UserDefined,
        Some(5) => Kind::Padding,
        Some(6) => Kind::Byte,
        _ => Kind::Normal,
    };
    Token::new(piece, kind)
}

/// Normalizing, in SentencePiece's order.
fn steps(trainer: &TrainerSpec, normalizer: &NormalizerSpec, config: &Config) -> Result<Steps> {
    if trainer.treat_whitespace_as_suffix || normalizer.escape_whitespaces == Some(false) {
        return Err(unsupported("the SentencePiece model has spaces at the end of words, or none".into()));
    }
    let mut normalizers = Vec::new();
    if !normalizer.precompiled_charsmap.is_empty() {
        let charsmap = STANDARD.encode(&normalizer.precompiled_charsmap);
        normalizers.push(json!({"type": "Precompiled", "precompiled_charsmap": charsmap}));
    }
    if normalizer.remove_extra_whitespaces != Some(false) {
        // At the end also what spaces are replaced by.
        normalizers.extend([remove(r"\A +|[ ▁]+\z", ""), remove(" {2,}", " ")]);
    }
    let has_prefix = normalizer.add_dummy_prefix != Some(false) && config.add_prefix_space != Some(false);
    let prefix = match (has_prefix, config.legacy) {
        (false, _) => Prefix::Nowhere,
        (true, Some(false)) => Prefix::First,
        (true, _) => Prefix::Each,
    };
    Ok(Steps::of_meta_spaces(normalizers, prefix))
}

fn remove(pattern: &str, leaves: &str) -> Value {
    json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": leaves})
}

fn unsupported(what: String) -> crate::Error {
    ErrorKind::UnsupportedTokenizer(what)
        .with_way_out("use the tokenizer.json of the model's repository, if there is one")
}
