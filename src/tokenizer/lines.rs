//! Lines of a text that came before, where the tokens of a text are those of its lines: examples in a prompt that is one
//! string are found again like those between control tokens.

use serde_json::Value;

use crate::tokenizer::TokenId;
use crate::tokenizer::run_cache::RunCache;

/// A shorter line is looked up together with the next one.
const SHORTEST: usize = 48;

/// The patterns of `cl100k_base`, Llama 3 and Qwen. Line feeds end a piece if no white space follows, and neither a letter
/// nor another character is taken together with one before it.
const PATTERNS: [&str; 2] = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

/// Whether a pre-tokenizer always cuts between a line feed and a printable character of ASCII.
pub(crate) fn are_parted_by(pre_tokenizer: &Value) -> bool {
    let steps = pre_tokenizer["pretokenizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [split, bytes] = steps else { return false };
    let has_pattern = split["pattern"]["Regex"].as_str().is_some_and(|pattern| PATTERNS.contains(&pattern));
    let is_isolated = split["behavior"] == "Isolated" && split["invert"].as_bool() != Some(true);
    let keeps_pieces =
        bytes["type"] == "ByteLevel" && bytes["use_regex"] == false && bytes["add_prefix_space"] == false;
    split["type"] == "Split" && has_pattern && is_isolated && keeps_pieces
}

/// The lines that came before. One per thread, for one tokenizer.
pub(crate) struct Lines(RunCache);

impl Default for Lines {
    fn default() -> Self {
        Self(RunCache::new())
    }
}

impl Lines {
    /// Appends the tokens of a text, which `encode` makes of a line, and of whether something is put before it, as before
    /// the text if it `has_prefix`. `parts` tells whether a line ends before this byte.
    pub(crate) fn encode(
        &mut self,
        text: &str,
        has_prefix: bool,
        parts: impl Fn(u8) -> bool,
        ids: &mut Vec<TokenId>,
        mut encode: impl FnMut(&str, bool, &mut Vec<TokenId>),
    ) {
        let bytes = text.as_bytes();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            let end = newline + 1;
            if end < start + SHORTEST || !bytes.get(end).is_some_and(|next| parts(*next)) {
                continue;
            }
            let (line, has_prefix) = (&text[start..end], has_prefix && start == 0);
            start = end;
            match self.0.get(line, has_prefix) {
                Ok(known) => ids.extend_from_slice(known),
                Err(place) => {
                    let first = ids.len();
                    encode(line, has_prefix, ids);
                    if let Some(place) = place {
                        self.0.put(place, line, has_prefix, &ids[first..]);
                    }
                }
            }
        }
        // The last line is mostly new, or the whole text, which others look up.
        encode(&text[start..], has_prefix && start == 0, ids);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use tokenizers_classic::{
        OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper,
    };

    use super::*;

    fn pieces(pre_tokenizer: &PreTokenizerWrapper, text: &str) -> Vec<String> {
        let mut split = PreTokenizedString::from(text);
        pre_tokenizer.pre_tokenize(&mut split).expect("it splits");
        let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
        splits.into_iter().map(|(piece, _, _)| piece.to_owned()).collect()
    }

    #[test]
    fn the_pieces_of_a_text_are_those_of_its_lines() {
        for pattern in PATTERNS {
            let json = serde_json::json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
            ]});
            assert!(are_parted_by(&json));
            let pre_tokenizer: PreTokenizerWrapper = serde_json::from_value(json).expect("it is one");
            let seams: Vec<char> = "\n\n\n\r \t'sSt.!?/-_aZ09(#中ſé\u{a0}\u{2028}\u{85}".chars().collect();
            let char = prop_oneof![5 => prop::sample::select(seams), 1 => any::<char>()];
            let text = prop::collection::vec(char, 0..24).prop_map(|chars| chars.into_iter().collect::<String>());
            let check = |text: String| {
                let whole = pieces(&pre_tokenizer, &text);
                for (newline, _) in text.match_indices('\n') {
                    if text.as_bytes().get(newline + 1).is_some_and(u8::is_ascii_graphic) {
                        let (line, rest) = text.split_at(newline + 1);
                        let parts = [pieces(&pre_tokenizer, line), pieces(&pre_tokenizer, rest)].concat();
                        prop_assert_eq!(&parts, &whole);
                    }
                }
                Ok(())
            };
            let config = ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() };
            TestRunner::new(config).run(&text, check).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        }
    }

    #[test]
    fn lines_are_encoded_once_they_are_known() {
        let (mut lines, mut encoded) = (Lines::default(), Vec::new());
        let line = "x".repeat(SHORTEST) + "\n";
        for _ in 0..3 {
            let mut ids = Vec::new();
            lines.encode(
                &format!("{line}{line} \na"),
                true,
                |next| next != b' ',
                &mut ids,
                |text, has_prefix, ids| {
                    encoded.push((text.len(), has_prefix));
                    ids.push(text.len() as TokenId);
                },
            );
            assert_eq!(ids, [49, 51, 1]);
        }
        let once = [(49, true), (51, false), (1, false)];
        assert_eq!(encoded, [&once[..], &once, &once[2..]].concat());
    }
}
