//! What holds for every pattern: text is cut as the reference cuts it, however much of it is read at once.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use regex_syntax::hir::{Class, HirKind};
use serde_json::{Value, json};

use crate::tokenizer::bpe::split::blocks::Blocks;
use crate::tokenizer::bpe::split::by_library::ends_by;
use crate::tokenizer::bpe::split::pattern::{Pattern, tests::all};
use crate::tokenizer::bpe::split::splits::Splits;
use crate::tokenizer::bpe::split::variant::{Variant, steps};
use crate::tokenizer::bpe::split::{LINE_END, O200K, Scanner, SplitBuffers, THREES};

/// The characters that the patterns tell from others, and any.
fn text() -> impl Strategy<Value = String> {
    const ASCII: &str = "  \n\t\r'sStTrReEvVmMlLdDaZ019.,!?-_/ABxyz\0\u{7}";
    const OTHERS: &str =
        "ǅʰ・゛\u{3099}ſʕéßΩж中の\u{300}\u{a0}\u{3000}\u{85}\u{200b}½²ٳ🎉ªⅣ\u{323b0}\u{88f}\u{e0100}\u{e000}𑀀々〇⺀";
    let one_of = |chars: &str| prop::sample::select(chars.chars().collect::<Vec<_>>());
    let ascii = prop_oneof![8 => one_of(ASCII), 1 => proptest::char::range('\0', '\x7f')];
    let any = prop_oneof![4 => one_of(ASCII), 3 => one_of(OTHERS), 1 => any::<char>()];
    // All of them are known to most patterns, and of the next ones to all.
    let usual = prop_oneof![2 => one_of(ASCII), 1 => one_of("éßΩÉжЖ中語のー・\u{3099}„“…½²🎉Ⓐ\u{a0}\u{3000}\u{85}")];
    let known = prop_oneof![2 => one_of("  \n\t\r'sStaZ01.,-/"), 1 => one_of("éßЖ中語のー・゛“…🎉\u{a0}\u{3000}")];
    // Longer than the 64 bytes that are read at once, too.
    let letters = |most| prop::collection::vec(one_of("asdZ"), 0..most);
    let letters = prop_oneof![letters(4), letters(80)];
    let word = (one_of("''.- \n“/ZZ"), letters, one_of("éЖß中語のー・\u{3099}1. \n'"))
        .prop_map(|(first, letters, last)| [&[first][..], &letters, &[last]].concat());
    let stretch = prop_oneof![
        prop::collection::vec(word, 0..12).prop_map(|words| words.concat()),
        prop::collection::vec(any, 0..120),
        prop::collection::vec(ascii, 0..250),
        prop::collection::vec(usual, 0..120),
        prop::collection::vec(known, 0..120),
    ];
    prop::collection::vec(stretch, 1..4).prop_map(|stretches| stretches.into_iter().flatten().collect())
}

/// What hardly comes by chance: letters without case after a contraction, and a capital one after them; marks of four
/// bytes; Chinese behind capitals, and its digits and signs.
const RARE: [&str; 6] =
    ["x'sのBc", "x's語Bc", "x'll語Bc", "\u{e0100}\u{e000} 葛\u{e0101}飾", "のAB中c", "x's中's !⺀1〇中  中'll"];

/// The pieces of each part.
fn cut<'t>(pattern: Pattern, text: &'t str, scanner: &mut Scanner) -> Vec<Vec<&'t str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    scanner.cut(pattern, text, |part, ends| {
        let starts = std::iter::once(&0).chain(ends);
        parts.push(starts.zip(ends).map(|(start, end)| &rest[*start as usize..*end as usize]).collect());
        assert_eq!(ends.last().map(|end| *end as usize), Some(part.len()));
        rest = &rest[part.len()..];
    });
    assert_eq!(rest, "");
    parts
}

/// The pieces by the reference.
fn cut_by<'t>(reference: &tokenizers_classic::PreTokenizerWrapper, text: &'t str) -> Vec<&'t str> {
    let mut start = 0;
    let pieces = ends_by(reference, text).into_iter().map(|end| &text[std::mem::replace(&mut start, end)..end]);
    // An empty text is a piece only where there are no steps.
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn reference(steps: &Value) -> tokenizers_classic::PreTokenizerWrapper {
    serde_json::from_value(json!({"type": "Sequence", "pretokenizers": steps})).expect("it is one")
}

/// Checks random text.
fn check_all(what: &dyn std::fmt::Debug, check: impl Fn(String) -> Result<(), TestCaseError>) {
    for text in RARE {
        check(text.to_owned()).unwrap_or_else(|error| panic!("{what:?}: {error}"));
    }
    let config = ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(&text(), check).unwrap_or_else(|error| panic!("{what:?}: {error}"));
}

#[test]
fn text_is_cut_as_by_the_patterns() {
    for (pattern, steps) in all() {
        let reference = reference(&steps);
        check_all(&pattern, |text| {
            let expected = cut_by(&reference, &text);
            let mut scanner = Scanner::default();
            prop_assert_eq!(&cut(pattern, &text, &mut scanner).concat(), &expected);
            let is_between = |at: &usize| match &text.as_bytes()[at - 1..] {
                [b'\n', next, ..] => pattern.parts_lines(*next),
                [letter, b' ', ..] => letter.is_ascii_alphabetic(),
                _ => false,
            };
            for at in (1..text.len()).filter(is_between) {
                let both = [&text[..at], &text[at..]].map(|text| cut(pattern, text, &mut scanner).concat());
                prop_assert_eq!(&both.concat(), &expected);
            }
            Ok(())
        });
    }
}

#[test]
fn text_is_cut_as_by_other_steps() {
    const EXAONE: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+";
    let split = |pattern: &str| steps(&[pattern])[0].clone();
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false});
    let others = [
        json!([split(EXAONE)]),
        // DeepSeek Coder.
        json!([
            split("[\r\n]"),
            split(r"\s?\p{L}+"),
            split(r"\s?\p{P}+"),
            split("[一-龥ࠀ-一가-퟿]+"),
            {"type": "Digits", "individual_digits": true},
        ]),
        // Jais 2, and GPT-4 as tiktoken has it today, which take the library.
        json!([split(r"\p{L}+|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}")]),
        json!([split(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        )]),
        // Tiny Aya and DeepSeek LLM, in part.
        json!([split(THREES), split(O200K)]),
        json!([split("[\r\n]"), split(r"\s?[!-/:-~！-／：-～‘-‟　-。]+"), split(LINE_END), split(r"\p{N}")]),
        // Bloom.
        json!([split(" ?[^(\\s|.,!?…。，、।۔،)]+")]),
        json!([{"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": false}]),
        json!([{"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": false}]),
        json!([]),
    ];
    for steps in others {
        let mut all = steps.as_array().expect("they are a list").clone();
        all.push(bytes.clone());
        let splits = Splits::of_bytes(&json!({"type": "Sequence", "pretokenizers": all})).expect("they only cut");
        let reference = reference(&steps);
        check_all(&steps, |text| {
            let (mut buffers, mut start) = (SplitBuffers::default(), 0);
            let ends = splits.cut(&text, &mut buffers).iter();
            let pieces: Vec<&str> = ends.map(|end| &text[std::mem::replace(&mut start, *end)..*end]).collect();
            prop_assert_eq!(pieces, cut_by(&reference, &text));
            Ok(())
        });
    }
    for more in [
        json!({"type": "Whitespace"}),
        json!({"type": "UnicodeScripts"}),
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": "Removed"}),
        json!({"type": "Split", "pattern": {"String": " "}, "behavior": {"Removed": null}, "invert": false}),
    ] {
        let more = json!({"type": "Sequence", "pretokenizers": [more, bytes]});
        assert!(Splits::of_bytes(&more).is_none(), "{more}");
    }
}

#[test]
fn long_text_is_read_part_by_part() {
    let text = "one, two 33\n".repeat(2_000) + &"x".repeat(20_000) + " end";
    let mut scanner = Scanner::default();
    for pattern in [Pattern::Gpt2, Pattern::Cl100k(Variant::QWEN), Pattern::O200k, Pattern::DeepSeek] {
        let parts = cut(pattern, &text, &mut scanner);
        assert!(parts.len() > 4);
        let (mut blocks, mut start) = (Blocks::default(), 0);
        let ends = blocks.ends(pattern, &text).expect("it is ASCII").iter().map(|end| *end as usize);
        let at_once: Vec<&str> = ends.map(|end| &text[std::mem::replace(&mut start, end)..end]).collect();
        assert_eq!(parts.concat(), at_once);
        assert_eq!(cut(pattern, "", &mut scanner).len(), 0);
    }
    // Each digit is a part, and none may look at all the text after it.
    assert_eq!(cut(Pattern::Gpt2Digits, &"½".repeat(300_000), &mut scanner).len(), 300_000);
    assert_eq!(cut(Pattern::Gpt2Digits, &("1".repeat(300_000) + "é"), &mut scanner).concat().len(), 300_001);
}

/// Each character is of the kind that the reference's library sees, or has a stand-in that is.
#[test]
fn characters_are_of_the_kind_that_the_reference_sees() {
    let mut kinds = vec![0_u8; char::MAX as usize + 1];
    let patterns =
        [r"\p{L}", r"\p{N}", r"\s", r"[\r\n]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"];
    for (bit, pattern) in patterns.into_iter().chain([r"[\p{P}\p{S}]"]).enumerate() {
        let parsed = regex_syntax::parse(pattern).expect("it is one");
        let HirKind::Class(Class::Unicode(ranges)) = parsed.kind() else { panic!("{pattern} is a class") };
        for range in ranges.iter() {
            kinds[range.start() as usize..=range.end() as usize].iter_mut().for_each(|kind| *kind |= 1 << bit);
        }
    }
    let (letter, number, space, newline, upper, lower, punctuation) = (1, 2, 4, 8, 16, 32, 64);
    let mut differ = Vec::new();
    for c in '\0'..=char::MAX {
        let text = c.to_string();
        let mut respelled = String::new();
        let is_other = super::older_unicode::respell(&text, true, &mut respelled);
        let text = if is_other { respelled } else { text };
        assert_eq!(text.len(), c.len_utf8());
        let mut tags = [0; 4];
        bitcannon::classify::classify(text.as_bytes(), &mut tags);
        let kind = match tags[0] {
            0x10 => letter | upper,
            0x20 => letter | lower,
            0x00 | 0x30 => letter | upper | lower,
            0x06 => upper | lower,
            0x01 | 0x02 | 0x31 => number,
            0x03 => space | newline,
            0x04 | 0x05 => space,
            0x07..=0x0a | 0x16 | 0x3a => punctuation,
            _ => 0,
        };
        if kind != kinds[c as usize] || is_other && kinds[c as usize] & !(letter | lower) != 0 {
            differ.push(c);
        }
    }
    assert!(differ.is_empty(), "stand-ins are missing, or too many: {differ:?}");
}
