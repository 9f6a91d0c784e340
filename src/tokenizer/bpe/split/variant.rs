//! The pattern of `cl100k`, and what models have made of its parts.

use serde_json::{Value, json};

/// Which parts a pattern has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Whether `'s` and the like are words.
    pub(super) contractions: bool,
    /// Whether marks are like letters.
    pub(super) marks: bool,
    /// How many digits a word has at most: 1 to 9, or [`ANY_NUMBER`].
    pub(super) digits: u32,
    /// Whether what is between digits is a text of its own.
    pub(super) digits_apart: bool,
    /// Whether line ends after punctuation belong to it.
    pub(super) tails: bool,
    /// Whether the white space that ends a text is one word.
    pub(super) trailing_space: bool,
}

/// No limit.
pub(super) const ANY_NUMBER: u32 = u32::MAX;

/// Each part in the spellings that say the same, the usual one first.
const CONTRACTIONS: [&str; 3] = ["(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)", "(?i:'(?:[sdmt]|ll|ve|re))"];
const LETTERS: [&str; 3] = [r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]?+\p{L}+", r"[^\r\n\p{L}\p{N}]?+\p{L}++"];
const LETTERS_AND_MARKS: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+";
const DIGITS: &str = r"\p{N}";
const SIGNS: [&str; 2] = [r" ?[^\s\p{L}\p{N}]+", r" ?[^\s\p{L}\p{N}]++"];
const SIGNS_BUT_MARKS: [&str; 1] = [r" ?[^\s\p{L}\p{M}\p{N}]+"];
const SIGNS_WITHOUT_TAILS: &str = r" ?[^\s\p{L}\p{N}\r\n]+";
const TAILS: [&str; 2] = [r"[\r\n]*", r"[\r\n]*+"];
/// For Oniguruma, a line ends here, too. But there is always white space before it, none of which is given back.
const TRAILING_SPACE: &str = r"\s++$";
const LINE_ENDS: [&str; 2] = [r"\s*[\r\n]+", r"\s*[\r\n]"];
const SPACE: [&str; 2] = [r"\s+(?!\S)|\s+", r"\s+(?!\S)|\s"];

impl Variant {
    /// GPT-4, Llama 3, GLM-4.
    pub(super) const CL100K: Self =
        Self { contractions: true, marks: false, digits: 3, digits_apart: false, tails: true, trailing_space: false };
    /// Up to Qwen3.
    pub(super) const QWEN: Self = Self { digits: 1, ..Self::CL100K };
    /// From Qwen3.5 on.
    pub(super) const QWEN3_5: Self = Self { marks: true, ..Self::QWEN };
    /// GPT-4, as tiktoken writes it today, and as Oniguruma reads it.
    pub(super) const TIKTOKEN: Self = Self { digits: ANY_NUMBER, trailing_space: true, ..Self::CL100K };

    /// The one that a pattern is, if it is one.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let (contractions, rest) = match alternative(pattern, &CONTRACTIONS) {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (marks, rest) = match alternative(rest, &LETTERS) {
            Some(rest) => (false, rest),
            None => (true, alternative(rest, &[LETTERS_AND_MARKS])?),
        };
        let (digits, rest) = digits(rest)?;
        let rest = rest.strip_prefix('|')?;
        let (tails, rest) = signs(rest, marks)?;
        let (trailing_space, rest) = match alternative(rest, &[TRAILING_SPACE]) {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let rest = alternative(rest, &LINE_ENDS)?;
        let this = Self { contractions, marks, digits, digits_apart: false, tails, trailing_space };
        SPACE.contains(&rest).then_some(this)
    }

    /// The variant of `pattern`, which cuts the text between digits. `apart` is the pattern that cuts digits apart before it.
    pub(super) fn behind_digits(apart: &str, pattern: &str) -> Option<Self> {
        let (apart, "") = digits(apart)? else { return None };
        // White space before a digit ends a text there.
        let all = Self::of(pattern).filter(|all| all.digits >= apart && !all.trailing_space)?;
        Some(Self { digits: apart, digits_apart: true, ..all })
    }

    /// The steps of a pre-tokenizer that cuts so.
    pub(super) fn steps(self) -> Value {
        let digits = match self.digits {
            ANY_NUMBER => format!("{DIGITS}+"),
            most => format!("{DIGITS}{{1,{most}}}"),
        };
        let mut parts = if self.contractions { vec![CONTRACTIONS[0]] } else { Vec::new() };
        parts.extend([if self.marks { LETTERS_AND_MARKS } else { LETTERS[0] }, &digits]);
        let signs = [if self.marks { SIGNS_BUT_MARKS[0] } else { SIGNS[0] }, if self.tails { TAILS[0] } else { "" }];
        let signs = signs.concat();
        parts.push(&signs);
        parts.extend(self.trailing_space.then_some(TRAILING_SPACE));
        parts.extend([LINE_ENDS[0], SPACE[0]]);
        let pattern = parts.join("|");
        match self.digits_apart {
            true => steps(&[&digits, &pattern]),
            false => steps(&[&pattern]),
        }
    }
}

/// What follows the first alternative of a pattern, if it has one of these spellings.
fn alternative<'p>(pattern: &'p str, spellings: &[&str]) -> Option<&'p str> {
    spellings.iter().find_map(|spelling| pattern.strip_prefix(spelling)?.strip_prefix('|'))
}

/// How many digits a word has at most, and what follows.
fn digits(pattern: &str) -> Option<(u32, &str)> {
    let (most, rest) = counted_digits(pattern.strip_prefix(DIGITS)?)?;
    // For Oniguruma, a plus after a count does not forbid giving back, as it does elsewhere: all that is counted may be repeated.
    Some(match rest.strip_prefix('+') {
        Some(rest) => (ANY_NUMBER, rest),
        None => (most, rest),
    })
}

fn counted_digits(rest: &str) -> Option<(u32, &str)> {
    let Some(counted) = rest.strip_prefix('{') else { return Some((1, rest)) };
    if let Some(rest) = counted.strip_prefix("1}") {
        return Some((1, rest));
    }
    let (most, rest) = counted.strip_prefix("1,")?.split_at_checked(1)?;
    let most = most.parse().ok().filter(|most| *most > 0)?;
    Some((most, rest.strip_prefix('}')?))
}

/// Whether line ends belong to punctuation, and what follows that alternative.
fn signs(pattern: &str, marks: bool) -> Option<(bool, &str)> {
    if let Some(rest) = alternative(pattern, &[SIGNS_WITHOUT_TAILS]).filter(|_| !marks) {
        return Some((false, rest));
    }
    let spellings = if marks { &SIGNS_BUT_MARKS[..] } else { &SIGNS };
    spellings.iter().find_map(|spelling| {
        let rest = pattern.strip_prefix(spelling)?;
        let tails = TAILS.iter().find_map(|tail| rest.strip_prefix(tail)?.strip_prefix('|'));
        tails.map(|rest| (true, rest)).or_else(|| Some((false, rest.strip_prefix('|')?)))
    })
}

/// A step for each of these patterns: its matches, and what is between them, become pieces.
pub(super) fn steps(patterns: &[&str]) -> Value {
    let step = |pattern: &&str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
    patterns.iter().map(step).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Some of them as models write them, with every spelling of each part.
    pub(crate) fn variants() -> Vec<(Variant, Vec<&'static str>)> {
        let (cl100k, qwen) = (Variant::CL100K, Variant::QWEN);
        vec![
            (
                cl100k,
                vec![
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            (
                qwen,
                vec![
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            (
                Variant::QWEN3_5,
                vec![
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            // Ling, which is cut as Qwen is.
            (
                qwen,
                vec![
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
                ],
            ),
            // The other spelling of each part.
            (
                cl100k,
                vec![
                    r"(?i:'(?:[sdmt]|ll|ve|re))|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s",
                ],
            ),
            // GPT-4, as tiktoken writes it today.
            (
                Variant::TIKTOKEN,
                vec![
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
                ],
            ),
            // Seed.
            (
                Variant { tails: false, ..qwen },
                vec![
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            // nanochat.
            (
                Variant { digits: 2, ..cl100k },
                vec![
                    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
                ],
            ),
            // MiniCPM5.
            (
                Variant { digits_apart: true, ..cl100k },
                vec![
                    r"\p{N}{1,3}",
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            (
                Variant { digits: ANY_NUMBER, digits_apart: true, ..cl100k },
                vec![
                    r"\p{N}{1,3}+",
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                ],
            ),
            (
                Variant { contractions: false, digits_apart: true, ..Variant::QWEN3_5 },
                vec![
                    r"\p{N}",
                    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*+|\s*[\r\n]+|\s+(?!\S)|\s",
                ],
            ),
        ]
    }

    #[test]
    fn variants_are_known_as_they_are_written() {
        for (variant, written) in variants() {
            let found = match written[..] {
                [pattern] => Variant::of(pattern),
                [digits, pattern] => Variant::behind_digits(digits, pattern),
                _ => None,
            };
            assert_eq!(found, Some(variant), "{written:?}");
            let patterns = variant.steps();
            let pattern = |step: usize| patterns[step]["pattern"]["Regex"].as_str().unwrap_or_default();
            let found = match variant.digits_apart {
                true => Variant::behind_digits(pattern(0), pattern(1)),
                false => Variant::of(pattern(0)),
            };
            assert_eq!(found, Some(variant), "{patterns}");
        }
        let possessive = r"[^\r\n\p{L}\p{N}]?+[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+";
        assert!(Variant::of(&possessive.replacen("?+", "?", 1)).is_some());
        // A mark by itself is not a word there.
        assert_eq!(Variant::of(possessive), None);
        for (counted, expected) in [
            (r"\p{N}{1}|", (1, "|")),
            (r"\p{N}", (1, "")),
            (r"\p{N}{1,9}?", (9, "?")),
            (r"\p{N}{1,9}+|", (ANY_NUMBER, "|")),
            (r"\p{N}++", (ANY_NUMBER, "+")),
        ] {
            assert_eq!(digits(counted), Some(expected));
        }
        let trailing = Variant::TIKTOKEN.steps()[0]["pattern"]["Regex"].as_str().map(str::to_owned);
        assert_eq!(Variant::behind_digits(r"\p{N}", &trailing.expect("it is a text")), None);
        for not in [r"\p{N}{2}", r"\p{N}{0}", r"\p{N}{1,0}", r"\p{N}{1,10}", r"\p{N}{1,"] {
            assert_eq!(digits(not), None, "{not}");
        }
    }
}
