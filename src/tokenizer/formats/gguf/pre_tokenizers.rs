//! The pre-tokenizers that GGUF files name by `tokenizer.ggml.pre`, as the steps of a `tokenizer.json`.
//!
//! The names, and which models have them, are those of llama.cpp (`llama-vocab.cpp`). The patterns are those of the models'
//! own `tokenizer.json`, which llama.cpp writes in other words.

use serde_json::{Value, json};

use crate::tokenizer::bpe::{DEEPSEEK, GPT2, KIMI, O200K, TEKKEN};
use crate::tokenizer::formats::patterns::{
    BAILING, CL100K, DEEPSEEK_CODER, DEEPSEEK_LLM, EXAONE_MOE, MINICPM5, QWEN2, QWEN35, SEED, TINY_AYA,
};
use crate::tokenizer::formats::steps::{byte_level, split};

/// How text is cut before merging, and what goes with that.
pub(super) struct PreTokenizer {
    /// The name.
    names: &'static [&'static str],
    splits: Splits,
    /// Whether a piece that is an entry of the vocabulary is that token, whatever its merges.
    pub(super) ignore_merges: bool,
    /// Whether merges are ordered by id, as in tiktoken; such a file may list none.
    pub(super) merges_by_id: bool,
    /// Whether texts begin with the bos token unless the file says so.
    pub(super) adds_bos: bool,
    /// Whether the models' own tokenizers normalize to NFC, which llama.cpp does not.
    pub(super) nfc: bool,
}

/// How text is split.
enum Splits {
    /// The pattern of `ByteLevel`.
    Gpt2,
    /// The pattern of `ByteLevel`, after each digit was made a piece by itself.
    Gpt2Digits,
    /// Patterns, one after the other. Their matches, and what is between them, are pieces.
    Patterns(&'static [&'static str]),
    /// First runs of punctuation, then as GPT-2, then digits by threes.
    Falcon,
}

const DEFAULT: PreTokenizer = PreTokenizer {
    names: &[],
    splits: Splits::Gpt2,
    ignore_merges: false,
    merges_by_id: false,
    adds_bos: false,
    nfc: false,
};

static ALL: &[PreTokenizer] = &[
    PreTokenizer {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        splits: Splits::Patterns(&[CL100K]),
        ignore_merges: true,
        adds_bos: true,
        ..DEFAULT
    },
    PreTokenizer { names: &["glm4", "glm5"], splits: Splits::Patterns(&[CL100K]), ignore_merges: true, ..DEFAULT },
    PreTokenizer { names: &["chatglm-bpe", "dbrx", "smaug-bpe"], splits: Splits::Patterns(&[CL100K]), ..DEFAULT },
    PreTokenizer {
        names: &["qwen2", "deepseek-r1-qwen", "megrez"],
        splits: Splits::Patterns(&[QWEN2]),
        nfc: true,
        ..DEFAULT
    },
    PreTokenizer {
        names: &["stablelm2", "hunyuan", "solar-open", "grok-2", "kormo"],
        splits: Splits::Patterns(&[QWEN2]),
        ..DEFAULT
    },
    PreTokenizer { names: &["qwen35"], splits: Splits::Patterns(&[QWEN35]), ..DEFAULT },
    PreTokenizer {
        names: &["deepseek-v3", "hunyuan-dense", "joyai-llm"],
        splits: Splits::Patterns(&DEEPSEEK),
        ..DEFAULT
    },
    PreTokenizer { names: &["deepseek-llm"], splits: Splits::Patterns(&DEEPSEEK_LLM), ..DEFAULT },
    PreTokenizer { names: &["deepseek-coder"], splits: Splits::Patterns(&DEEPSEEK_CODER), ..DEFAULT },
    PreTokenizer {
        names: &["gpt-4o", "llama4", "kanana2", "minimax-m2"],
        splits: Splits::Patterns(&[O200K]),
        ..DEFAULT
    },
    PreTokenizer { names: &["tiny_aya", "cohere2moe"], splits: Splits::Patterns(&TINY_AYA), ..DEFAULT },
    PreTokenizer {
        names: &["tekken"],
        splits: Splits::Patterns(&[TEKKEN]),
        ignore_merges: true,
        adds_bos: true,
        ..DEFAULT
    },
    PreTokenizer {
        names: &["bailingmoe", "bailingmoe2", "llada-moe"],
        splits: Splits::Patterns(&[BAILING]),
        ..DEFAULT
    },
    PreTokenizer { names: &["seed-coder"], splits: Splits::Patterns(&[SEED]), ..DEFAULT },
    PreTokenizer { names: &["exaone-moe"], splits: Splits::Patterns(&[EXAONE_MOE]), ..DEFAULT },
    PreTokenizer { names: &["minicpm5"], splits: Splits::Patterns(&MINICPM5), ignore_merges: true, ..DEFAULT },
    PreTokenizer {
        names: &["command-r", "smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"],
        splits: Splits::Gpt2Digits,
        ..DEFAULT
    },
    PreTokenizer {
        names: &["gpt-2", "phi-2", "mpt", "olmo", "jais", "exaone4", "gigachat", "a.x-4.0", "mellum", "trillion"],
        ..DEFAULT
    },
    PreTokenizer { names: &["falcon"], splits: Splits::Falcon, ..DEFAULT },
    PreTokenizer {
        names: &["kimi-k2"],
        splits: Splits::Patterns(&[KIMI]),
        ignore_merges: true,
        merges_by_id: true,
        ..DEFAULT
    },
];

impl PreTokenizer {
    /// The one with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|pre_tokenizer| pre_tokenizer.names.contains(&name))
    }

    /// The steps of a `tokenizer.json`, of which the last one may be missing if it only makes characters of bytes.
    pub(super) fn steps(&self) -> Vec<Value> {
        match &self.splits {
            Splits::Gpt2 => vec![byte_level(true)],
            Splits::Gpt2Digits => vec![json!({"type": "Digits", "individual_digits": true}), byte_level(true)],
            Splits::Patterns(patterns) => patterns.iter().map(|pattern| split(pattern)).collect(),
            Splits::Falcon => vec![split(r"[\p{P}\$\+<=>\^~\|`]+"), split(GPT2), split("[0-9][0-9][0-9]")],
        }
    }
}
