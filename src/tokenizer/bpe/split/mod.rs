//! Where a text is cut into pieces that are encoded one by one: words.
//!
//! A pre-tokenizer's pattern is only known if it is written here letter by letter. Others are left to the library.

mod cased;
mod deepseek;
mod gpt2;
#[cfg(test)]
mod laws;
mod seams;
mod splitting;
mod words;

use serde_json::Value;

pub(super) use cased::Cased;
pub(super) use deepseek::DeepSeek;
pub(super) use gpt2::Gpt2;
pub(super) use seams::Seams;
pub(super) use splitting::Split;
pub(super) use words::Words;

/// The ways that are known.
pub(super) enum Splitter {
    Words(Words),
    Cased(Cased),
    DeepSeek(DeepSeek),
    Gpt2(Gpt2),
}

impl Splitter {
    /// How the pre-tokenizer of a byte-level vocabulary cuts; none if it is not known.
    pub(super) fn of_bytes(pre_tokenizer: &Value) -> Option<Self> {
        let steps = match pre_tokenizer["type"].as_str()? {
            "Sequence" => pre_tokenizer["pretokenizers"].as_array()?.as_slice(),
            _ => std::slice::from_ref(pre_tokenizer),
        };
        let (bytes, splits) = steps.split_last()?;
        if bytes["type"] != "ByteLevel" || bytes["add_prefix_space"] != false {
            return None;
        }
        if bytes["use_regex"].as_bool().unwrap_or(true) {
            return splits.is_empty().then(|| Self::Gpt2(Gpt2::new()));
        }
        match splits {
            [split] => {
                let pattern = isolated(split).or_else(|| kept(split))?;
                let words = Words::of_pattern(pattern).map(Self::Words);
                words.or_else(|| Cased::of_pattern(pattern).map(Self::Cased))
            }
            _ => {
                let is_known = splits.iter().map(isolated).eq(deepseek::PATTERNS.map(Some));
                is_known.then(|| Self::DeepSeek(DeepSeek::new()))
            }
        }
    }
}

/// The pattern whose matches, and what is between them, become pieces.
fn isolated(split: &Value) -> Option<&str> {
    let is_isolated = split["behavior"] == "Isolated" && split["invert"].as_bool() != Some(true);
    split["pattern"]["Regex"].as_str().filter(|_| split["type"] == "Split" && is_isolated)
}

/// The pattern whose matches alone become pieces, which is the same where they are the whole text.
fn kept(split: &Value) -> Option<&str> {
    let is_kept = split["behavior"] == "Removed" && split["invert"] == true;
    split["pattern"]["Regex"].as_str().filter(|_| split["type"] == "Split" && is_kept)
}
