//! The patterns by which byte-level vocabularies cut text into words.
//!
//! A pattern, or each part of one that is like `cl100k`'s, is only known if it is written here letter by letter. Others are
//! left to the library.

use serde_json::Value;

use crate::tokenizer::bpe::split::variant::Variant;

/// A pattern that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The one that `ByteLevel` pre-tokenizers have by themselves.
    Gpt2,
    /// As GPT-2's, with each digit by itself, and what is between digits as a text of its own: Command R, Aya.
    Gpt2Digits,
    /// The one of GPT-4, Llama 3, GLM-4 and others, and what Qwen and others have made of it.
    Cl100k(Variant),
    /// Words are cut before capital letters, too: gpt-oss, Llama 4.
    O200k,
    /// As o200k's, with each digit by itself, and without contractions: Mistral, since Nemo.
    Tekken,
    /// As o200k's, with Chinese characters apart from other letters: Kimi.
    Kimi,
    /// V3 and R1. Three patterns, one after the other.
    DeepSeek,
}

pub(crate) const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// The same, as tiktoken writes it today: nothing that it does not give back is needed by what follows.
const GPT2_BY_TIKTOKEN: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
pub(crate) const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(crate) const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(crate) const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(crate) const DEEPSEEK: [&str; 3] = [
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"##,
        "\r\n",
        r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[",
        "\r\n",
        r"]*|\s*[",
        "\r\n",
        r"]+|\s+(?!\S)|\s+",
    ),
];

impl Pattern {
    /// The one of the pre-tokenizer of a byte-level vocabulary; none if it is not known.
    pub(crate) fn of_bytes(pre_tokenizer: &Value) -> Option<Self> {
        let (splits, is_cut_by_gpt2) = steps_before_bytes(pre_tokenizer)?;
        if is_cut_by_gpt2 {
            return match splits {
                [] => Some(Self::Gpt2),
                [digits] if digits["type"] == "Digits" && digits["individual_digits"] == true => Some(Self::Gpt2Digits),
                _ => None,
            };
        }
        match splits {
            [split] => match isolated(split).or_else(|| kept(split))? {
                GPT2 | GPT2_BY_TIKTOKEN => Some(Self::Gpt2),
                O200K => Some(Self::O200k),
                TEKKEN => Some(Self::Tekken),
                KIMI => Some(Self::Kimi),
                other => Variant::of(other).map(Self::Cl100k),
            },
            [digits, split] => Variant::behind_digits(isolated(digits)?, isolated(split)?).map(Self::Cl100k),
            _ => splits.iter().map(isolated).eq(DEEPSEEK.map(Some)).then_some(Self::DeepSeek),
        }
    }

    /// Whether a piece always ends between a line feed and this byte, whatever is around.
    pub(crate) fn parts_lines(self, next: u8) -> bool {
        match self {
            // White space that ends a text is one piece, and before other text two.
            Self::Gpt2 | Self::Gpt2Digits => false,
            Self::Cl100k(_) | Self::DeepSeek | Self::Kimi => next.is_ascii_graphic(),
            // A slash belongs to a line end after punctuation.
            Self::O200k | Self::Tekken => next.is_ascii_graphic() && next != b'/',
        }
    }
}

/// The steps of a pre-tokenizer that makes characters of bytes last, and whether it cuts by [`GPT2`] before it does.
pub(super) fn steps_before_bytes(pre_tokenizer: &Value) -> Option<(&[Value], bool)> {
    let steps = match pre_tokenizer["type"].as_str()? {
        "Sequence" => pre_tokenizer["pretokenizers"].as_array()?.as_slice(),
        _ => std::slice::from_ref(pre_tokenizer),
    };
    let (bytes, steps) = steps.split_last()?;
    let keeps_text = bytes["type"] == "ByteLevel" && bytes["add_prefix_space"] == false;
    keeps_text.then(|| (steps, bytes["use_regex"].as_bool().unwrap_or(true)))
}

/// The pattern whose matches, and what is between them, become pieces.
pub(super) fn isolated(split: &Value) -> Option<&str> {
    let is_isolated = split["behavior"] == "Isolated" && split["invert"].as_bool() != Some(true);
    split["pattern"]["Regex"].as_str().filter(|_| split["type"] == "Split" && is_isolated)
}

/// The pattern whose matches alone become pieces, which is the same where they are the whole text.
fn kept(split: &Value) -> Option<&str> {
    let is_kept = split["behavior"] == "Removed" && split["invert"] == true;
    split["pattern"]["Regex"].as_str().filter(|_| split["type"] == "Split" && is_kept)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokenizer::bpe::split::variant::{steps, tests::variants};

    /// All of them, each with the steps of a pre-tokenizer that cuts so.
    pub(crate) fn all() -> Vec<(Pattern, Value)> {
        let written = [
            (Pattern::Gpt2, &[GPT2][..]),
            (Pattern::Gpt2, &[GPT2_BY_TIKTOKEN]),
            (Pattern::O200k, &[O200K]),
            (Pattern::Tekken, &[TEKKEN]),
            (Pattern::Kimi, &[KIMI]),
            (Pattern::DeepSeek, &DEEPSEEK),
        ]
        .map(|(pattern, written)| (pattern, steps(written)));
        let variants = variants().into_iter().map(|(variant, written)| (Pattern::Cl100k(variant), steps(&written)));
        let digits = json!([digits(true), steps(&[GPT2])[0]]);
        written.into_iter().chain(variants).chain([(Pattern::Gpt2Digits, digits)]).collect()
    }

    fn digits(individual: bool) -> Value {
        json!({"type": "Digits", "individual_digits": individual})
    }

    #[test]
    fn only_known_pre_tokenizers_have_a_pattern() {
        let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": use_regex});
        let sequence = |steps: &[Value]| json!({"type": "Sequence", "pretokenizers": steps});
        assert_eq!(Pattern::of_bytes(&bytes(true)), Some(Pattern::Gpt2));
        assert_eq!(Pattern::of_bytes(&sequence(&[digits(true), bytes(true)])), Some(Pattern::Gpt2Digits));
        assert_eq!(Pattern::of_bytes(&sequence(&[digits(false), bytes(true)])), None);
        assert_eq!(Pattern::of_bytes(&sequence(&[digits(true), bytes(false)])), None);
        for (pattern, steps) in all().into_iter().filter(|(pattern, _)| *pattern != Pattern::Gpt2Digits) {
            let mut steps = steps.as_array().expect("they are a list").clone();
            steps.push(bytes(false));
            assert_eq!(Pattern::of_bytes(&sequence(&steps)), Some(pattern));
            steps[0]["pattern"]["Regex"] = json!(r"\p{L}+");
            assert_eq!(Pattern::of_bytes(&sequence(&steps)), None);
        }
        assert_eq!(Pattern::of_bytes(&bytes(false)), None);
        assert_eq!(Pattern::of_bytes(&json!({"type": "ByteLevel", "add_prefix_space": true})), None);
    }
}
