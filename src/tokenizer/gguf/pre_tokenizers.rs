//! The pre-tokenizers that GGUF files name by `tokenizer.ggml.pre`, as the steps of a `tokenizer.json`.
//!
//! The names, and which models have them, are those of llama.cpp (`llama-vocab.cpp`). The patterns are those of the models'
//! own `tokenizer.json`, which llama.cpp writes in other words.

use serde_json::{Value, json};

use crate::tokenizer::bpe::{DEEPSEEK, GPT2, O200K, TEKKEN};

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

const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const BAILING: &str =
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
const SEED: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
const EXAONE_MOE: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+";
const MINICPM5: [&str; 2] = [
    r"\p{N}{1,3}",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];
const TINY_AYA: [&str; 2] = [r"\d{1,3}(?=(?:\d{3})*\b)", O200K];
const DEEPSEEK_LLM: [&str; 6] = [
    r"[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    "[一-龥ࠀ-一가-퟿]+",
    r"\p{N}",
];
const DEEPSEEK_CODER: [&str; 5] = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"];

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

    /// As a `tokenizer.json` has it.
    pub(super) fn json(&self) -> Value {
        let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
        let split = |pattern: &str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        let digits = json!({"type": "Digits", "individual_digits": true});
        let steps = match &self.cuts {
            Cuts::Gpt2 => vec![bytes(true)],
            Cuts::Gpt2Digits => vec![digits, bytes(true)],
            Cuts::Patterns(patterns) => patterns.iter().map(|pattern| split(pattern)).chain([bytes(false)]).collect(),
            Cuts::Falcon => vec![split(r"[\p{P}\$\+<=>\^~\|`]+"), split(GPT2), split("[0-9][0-9][0-9]"), bytes(false)],
        };
        json!({"type": "Sequence", "pretokenizers": steps})
    }
}
