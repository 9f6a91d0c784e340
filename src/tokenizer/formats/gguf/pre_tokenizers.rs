//! The pre-tokenizers that GGUF files name by `tokenizer.ggml.pre`, as the steps of a `tokenizer.json`.
//!
//! The names, and which models have them, are those of llama.cpp (`llama-vocab.cpp`). The patterns are those of the models'
//! own `tokenizer.json`, which llama.cpp writes in other words.

use serde_json::{Value, json};

use crate::tokenizer::bpe::{DEEPSEEK, GPT2, O200K, TEKKEN};
use crate::tokenizer::formats::patterns::{
    BAILING, CL100K, DEEPSEEK_CODER, DEEPSEEK_LLM, EXAONE_MOE, MINICPM5, QWEN2, QWEN35, SEED, TINY_AYA,
};
use crate::tokenizer::formats::vocabulary::{byte_level, split};

/// How text is cut before merging, and what goes with that.
pub(super) struct PreTokenizer {
    /// The name.
    names: &'static [&'static str],
    cuts: Cuts,
    /// Whether a piece that is an entry of the vocabulary is that token, whatever its merges.
    pub(super) ignore_merges: bool,
    /// Whether texts begin with the bos token unless the file says so.
    pub(super) adds_bos: bool,
    /// Whether the models' own tokenizers compose characters, which llama.cpp does not.
    pub(super) composes: bool,
}

/// What cuts.
enum Cuts {
    /// The pattern of `ByteLevel`.
    Gpt2,
    /// The same after each digit stands by itself.
    Gpt2Digits,
    /// Patterns, one after the other. Their matches, and what is between them, are pieces.
    Patterns(&'static [&'static str]),
    /// First runs of punctuation, then as GPT-2, then digits by threes.
    Falcon,
}

const USUAL: PreTokenizer =
    PreTokenizer { names: &[], cuts: Cuts::Gpt2, ignore_merges: false, adds_bos: false, composes: false };

static ALL: &[PreTokenizer] = &[
    PreTokenizer {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        cuts: Cuts::Patterns(&[CL100K]),
        ignore_merges: true,
        adds_bos: true,
        ..USUAL
    },
    PreTokenizer { names: &["glm4", "glm5"], cuts: Cuts::Patterns(&[CL100K]), ignore_merges: true, ..USUAL },
    PreTokenizer { names: &["chatglm-bpe", "dbrx", "smaug-bpe"], cuts: Cuts::Patterns(&[CL100K]), ..USUAL },
    PreTokenizer {
        names: &["qwen2", "deepseek-r1-qwen", "megrez"],
        cuts: Cuts::Patterns(&[QWEN2]),
        composes: true,
        ..USUAL
    },
    PreTokenizer {
        names: &["stablelm2", "hunyuan", "solar-open", "grok-2", "kormo"],
        cuts: Cuts::Patterns(&[QWEN2]),
        ..USUAL
    },
    PreTokenizer { names: &["qwen35"], cuts: Cuts::Patterns(&[QWEN35]), ..USUAL },
    PreTokenizer { names: &["deepseek-v3", "hunyuan-dense", "joyai-llm"], cuts: Cuts::Patterns(&DEEPSEEK), ..USUAL },
    PreTokenizer { names: &["deepseek-llm"], cuts: Cuts::Patterns(&DEEPSEEK_LLM), ..USUAL },
    PreTokenizer { names: &["deepseek-coder"], cuts: Cuts::Patterns(&DEEPSEEK_CODER), ..USUAL },
    PreTokenizer { names: &["gpt-4o", "llama4", "kanana2", "minimax-m2"], cuts: Cuts::Patterns(&[O200K]), ..USUAL },
    PreTokenizer { names: &["tiny_aya", "cohere2moe"], cuts: Cuts::Patterns(&TINY_AYA), ..USUAL },
    PreTokenizer { names: &["tekken"], cuts: Cuts::Patterns(&[TEKKEN]), ignore_merges: true, adds_bos: true, ..USUAL },
    PreTokenizer { names: &["bailingmoe", "bailingmoe2", "llada-moe"], cuts: Cuts::Patterns(&[BAILING]), ..USUAL },
    PreTokenizer { names: &["seed-coder"], cuts: Cuts::Patterns(&[SEED]), ..USUAL },
    PreTokenizer { names: &["exaone-moe"], cuts: Cuts::Patterns(&[EXAONE_MOE]), ..USUAL },
    PreTokenizer { names: &["minicpm5"], cuts: Cuts::Patterns(&MINICPM5), ignore_merges: true, ..USUAL },
    PreTokenizer {
        names: &["command-r", "smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"],
        cuts: Cuts::Gpt2Digits,
        ..USUAL
    },
    PreTokenizer {
        names: &["gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "gigachat", "a.x-4.0", "mellum", "trillion"],
        ..USUAL
    },
    PreTokenizer { names: &["falcon"], cuts: Cuts::Falcon, ..USUAL },
];

impl PreTokenizer {
    /// The one with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|pre_tokenizer| pre_tokenizer.names.contains(&name))
    }

    /// The steps of a `tokenizer.json`, of which the last one may be missing if it only makes characters of bytes.
    pub(super) fn steps(&self) -> Vec<Value> {
        match &self.cuts {
            Cuts::Gpt2 => vec![byte_level(true)],
            Cuts::Gpt2Digits => vec![json!({"type": "Digits", "individual_digits": true}), byte_level(true)],
            Cuts::Patterns(patterns) => patterns.iter().map(|pattern| split(pattern)).collect(),
            Cuts::Falcon => vec![split(r"[\p{P}\$\+<=>\^~\|`]+"), split(GPT2), split("[0-9][0-9][0-9]")],
        }
    }
}
