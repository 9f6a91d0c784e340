//! The steps of a `tokenizer.json` before and after its model.

use serde_json::{Value, json};

pub(super) struct Steps {
    pub(super) normalizer: Value,
    pub(super) pre_tokenizer: Value,
    pub(super) decoder: Value,
}

/// Where SentencePiece's leading space goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Nowhere,
    /// Before all text between two added tokens.
    Each,
    /// Before the prompt's first text.
    First,
}

impl Steps {
    /// For a vocabulary of bytes. `pre_tokenizers` split the text; with `nfc` it is normalized first.
    pub(super) fn of_bytes(mut pre_tokenizers: Vec<Value>, nfc: bool) -> Self {
        let is_byte_level = |step: &Value| step["type"] == "ByteLevel";
        if !pre_tokenizers.last().is_some_and(is_byte_level) {
            pre_tokenizers.push(byte_level(false));
        }
        Self {
            normalizer: if nfc { json!({"type": "NFC"}) } else { Value::Null },
            pre_tokenizer: json!({"type": "Sequence", "pretokenizers": pre_tokenizers}),
            decoder: json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}),
        }
    }

    /// For a vocabulary of characters with `▁` for a space. `normalizers` run first.
    pub(super) fn of_meta_spaces(mut normalizers: Vec<Value>, prefix: Prefix) -> Self {
        if prefix == Prefix::Each {
            normalizers.push(json!({"type": "Prepend", "prepend": "▁"}));
        }
        normalizers.push(replace(" ", "▁"));
        let pre_tokenizer = match prefix {
            Prefix::First => {
                json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false})
            }
            Prefix::Nowhere | Prefix::Each => Value::Null,
        };
        let mut decoders = vec![replace("▁", " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
        if prefix != Prefix::Nowhere {
            decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
        }
        Self {
            normalizer: json!({"type": "Sequence", "normalizers": normalizers}),
            pre_tokenizer,
            decoder: json!({"type": "Sequence", "decoders": decoders}),
        }
    }
}

fn replace(from: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": from}, "content": to})
}

/// A normalizer that replaces the matches of a pattern.
pub(super) fn replace_regex(pattern: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": to})
}

/// Maps bytes to characters; with `use_regex` it splits by GPT-2's pattern first.
pub(super) fn byte_level(use_regex: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex})
}

/// Splits text into the matches of a pattern and what is between them.
pub(super) fn split(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}
